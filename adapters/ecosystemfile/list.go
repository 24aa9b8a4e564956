package ecosystemfile

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// What is remembered of a listing. A file that was changed a moment before it was read may change again without its time showing it.
const (
	maxGlance = 64 << 10 // bytes of a record
	settled   = 2 * time.Second
)

// glance is a record as it was read from that very file.
type glance struct {
	info fs.FileInfo
	run  *ecosystem.Run
}

func (g glance) holds(info fs.FileInfo) bool {
	return g.run != nil && os.SameFile(g.info, info) && g.info.Size() == info.Size() && g.info.ModTime().Equal(info.ModTime())
}

// scan visits the ids of all records, in no order.
func scan(dir *docfile.Dir, visit func(id string, info func() (fs.FileInfo, error)) error) error {
	err := dir.Scan(".", func(name string, info func() (fs.FileInfo, error)) error {
		if id, ok := strings.CutSuffix(name, recordSuffix); ok && isID(id) {
			return visit(id, info)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List implements ecosystemport.Runs. Runs that have ended are read once: what is listed again and again is mostly those.
func (s *RunStore) List(ctx context.Context, f ecosystem.RunFilter) ([]ecosystem.Run, error) {
	found, err := s.all(ctx, f)
	if err != nil {
		return nil, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = ecosystem.MaxKeptRuns
	}
	out := make([]ecosystem.Run, 0, min(limit, len(found)))
	for _, r := range found[:min(limit, len(found))] {
		out = append(out, *r)
	}
	return out, nil
}

// all returns every run that the filter chooses, newest first.
func (s *RunStore) all(ctx context.Context, f ecosystem.RunFilter) ([]*ecosystem.Run, error) {
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	seen := maps.Clone(s.seen)
	s.mu.Unlock()
	var found []*ecosystem.Run
	now := map[string]glance{}
	err = scan(dir, func(id string, stat func() (fs.FileInfo, error)) error {
		info, err := stat()
		if err != nil {
			return ctx.Err() // gone, or out of reach
		}
		g := seen[id]
		if !g.holds(info) {
			r, err := read(dir, id)
			if err != nil {
				return ctx.Err()
			}
			g = glance{info, &r}
		}
		if g.run.Status.Final() && info.Size() <= maxGlance && time.Since(info.ModTime()) > settled {
			now[id] = g
		}
		if f.Matches(*g.run) {
			found = append(found, g.run)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.seen = now
	s.mu.Unlock()
	slices.SortFunc(found, func(a, b *ecosystem.Run) int { return ecosystem.CompareAge(*b, *a) })
	return found, nil
}
