package sandboxfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

const sweepAge = time.Hour

// report is what Migrate did, or would do.
type report struct {
	Changes  []string `json:"changes"`
	Warnings []string `json:"warnings"`
	Backups  []string `json:"backups"` // copies of the files as they were
}

// Migrate brings the state file and the table of servers up to date, each after a copy of it was kept; a dry run only says what would be done. Loading
// does the same, so that doing it by hand is for users who want to see it. A file that cannot be used is sandbox.ErrState.
func (s *Store) Migrate(ctx context.Context, dryRun bool) (report, error) {
	report := report{Changes: []string{}, Warnings: []string{}, Backups: []string{}}
	if err := s.checkHome(); err != nil {
		return report, err
	}
	if !dryRun {
		release, err := s.exclude(ctx, lockName, "the state file")
		if err != nil {
			return report, err
		}
		defer release()
		if err := s.recover(); err != nil {
			return report, err
		}
	}
	state, table := s.read()
	if err := cmp.Or(state.err, table.err); err != nil {
		return report, err
	}
	if _, err := s.decode(state); err != nil {
		return report, err
	}
	for _, d := range []*document{&state, &table} {
		report.Changes = append(report.Changes, d.report.Changes...)
		report.Warnings = append(report.Warnings, d.report.Warnings...)
		if dryRun || !outdated(*d) {
			continue
		}
		backup, err := s.upgrade(d)
		if err != nil {
			return report, err
		}
		report.Backups = append(report.Backups, backup)
	}
	return report, nil
}

// upgrade stores a document that was brought up to date in memory, after a copy of what was found. The lock is held.
func (s *Store) upgrade(d *document) (backup string, err error) {
	if d.name == stateName {
		if _, err := s.decode(*d); err != nil {
			return "", err
		}
	}
	text, err := d.object.Text()
	if err != nil {
		return "", fault.ErrInternal.WithCause(err)
	}
	name, err := s.backupName(d.name)
	if err != nil {
		return "", err
	}
	if err := s.memory.Write(name, d.found); err != nil {
		return "", err
	}
	if err := s.memory.Write(d.name, text); err != nil {
		return "", err
	}
	for _, warning := range d.report.Warnings {
		s.o.Warn(warning)
	}
	d.found = text
	_, _ = s.memory.Sweep(".", sweepAge) // what dead writers left; only tidiness
	return s.memory.File(name), nil
}

// backupName returns a name that no earlier copy has.
func (s *Store) backupName(name string) (string, error) {
	stem := name + ".backup-" + s.o.Clock.Now().UTC().Format("20060102T150405Z")
	for i, candidate := 1, stem; i < 1000; i++ {
		if _, err := s.memory.Stat(candidate); errors.Is(err, fs.ErrNotExist) {
			return candidate, nil
		} else if err != nil {
			return "", err
		}
		candidate = stem + "-" + strconv.Itoa(i)
	}
	return "", sandbox.ErrState.WithMessage("1000 copies of %s exist, the maximum; move some away", s.memory.File(name))
}
