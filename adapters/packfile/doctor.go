package packfile

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/visible"
	"github.com/countersign-dev/countersign/ports/packport"
)

// Inspect implements packport.Doctor. File is the full path.
func (s *Store) Inspect(ctx context.Context) ([]packport.Damage, error) {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	found := []packport.Damage{}
	for _, e := range s.index.order {
		if e.damage == nil {
			continue
		}
		found = append(found, packport.Damage{
			File:   s.dir.File(packsDir + "/" + e.file),
			Reason: fault.From(e.damage).Message,
			Schema: errors.Is(e.damage, pack.ErrSchema),
		})
	}
	return found, nil
}

// Hidden implements packport.Reviewer. File is the full path. What cannot be read is damage, and not among them.
func (s *Store) Hidden(ctx context.Context) ([]packport.Concealed, error) {
	s.index.mu.Lock()
	err := s.refresh(ctx)
	files := make([]string, 0, len(s.index.order))
	for _, e := range s.index.order {
		files = append(files, e.file)
	}
	s.index.mu.Unlock()
	if err != nil {
		return nil, err
	}
	found := []packport.Concealed{}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, _, err := s.dir.Read(packsDir+"/"+file, MaxFile)
		if err != nil {
			continue
		}
		if f, hides := visible.FindHidden("its text", string(data)); hides {
			found = append(found, packport.Concealed{File: s.dir.File(packsDir + "/" + file), What: visible.FindingsReason([]visible.Finding{f})})
		}
	}
	return found, nil
}

// Quarantine implements packport.Doctor: the file moves to ROOT/quarantine. It takes the path Inspect gave, or the bare file name.
func (s *Store) Quarantine(ctx context.Context, file string) (moved string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	base := filepath.Base(file)
	healthy := packport.ErrHealthy.WithMessage("%s is not among the damaged pack files; countersign pack doctor lists them", file)
	ours := base == file || s.dir.File(packsDir+"/"+base) == filepath.Clean(file)
	if !ours || !strings.HasSuffix(base, packSuffix) || !s.damaged(base) {
		return "", healthy
	}
	lock, err := s.dir.Lock(ctx, lockName(pack.ID(strings.TrimSuffix(base, packSuffix)))) // nobody rewrites it meanwhile
	if err != nil {
		return "", unusable("set aside "+base, err)
	}
	defer lock.Release()
	if !s.damaged(base) { // it was repaired while we waited
		return "", healthy
	}
	moved, err = s.moveAside(packsDir+"/"+base, quarantineDir)
	if err != nil {
		return "", unusable("set aside "+base, err)
	}
	_ = lock.Retire()
	return moved, nil
}

func (s *Store) damaged(file string) bool {
	_, _, err := s.read(file)
	return errors.Is(err, pack.ErrMalformed) || errors.Is(err, pack.ErrSchema)
}
