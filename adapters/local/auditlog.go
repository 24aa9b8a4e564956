package local

import (
	"context"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/anchoring"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/gitcli/anchorgit"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/audit"
)

// recorded returns the audit log of a store, signed by the key of this machine and written to the anchors.
func (c Config) recorded(store *sqlitestore.Store) *anchoring.AnchoredLog {
	home, machine := settledPath(c.Dir), system.Machine()
	signer := docfile.NewSigner(filepath.Join(c.Dir, "keys"), home, machine, system.Clock{}.Now)
	store.SignWith(signer)
	parts := anchoring.Options{Log: store, Signer: signer, Dir: c.Dir, Home: home, Machine: machine, Clock: system.Clock{}, Slog: c.Log,
		Open: func(a audit.Anchor) (anchoring.Place, error) {
			switch a.Kind {
			case audit.AnchorFile:
				return anchoring.OpenFile(a.Where)
			case audit.AnchorGit:
				return anchorgit.Open(a.Where, machine+"\n"+home, filepath.Join(c.Dir, "anchors"))
			}
			return nil, anchoring.ErrNoAnchor.WithMessage("unknown anchor kind %q", a.Kind)
		}}
	if journal := anchoring.OpenJournal(c.Journal); journal != nil {
		parts.Journal = journal
	}
	return anchoring.NewAnchoredLog(parts)
}

// settledPath returns the directory by the one name it always has, also before it exists.
func settledPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		return filepath.Join(real, filepath.Base(dir))
	}
	return dir
}

// fewest is how many reads are removed at least without being asked to: each removal is on record itself.
const fewest = 500

// PruneAudit removes the records of reads that are older than the user has set, if that is set and there are many.
func (l *Local) PruneAudit(ctx context.Context) (audit.Pruned, error) {
	days, err := l.KeepReadsDays(ctx)
	if err != nil || days == 0 {
		return audit.Pruned{}, err
	}
	return l.audit.Prune(ctx, days, fewest)
}

// Record returns the audit log with its anchors.
func (l *Local) Record() *anchoring.AnchoredLog { return l.audit }
