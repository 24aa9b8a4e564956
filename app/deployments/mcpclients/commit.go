package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// private modes: a file with other programs' secrets is readable only by its owner.
const (
	privateMode = 0o600
	stamp       = "20060102T150405.000000000Z"
	maxBackups  = 100 // of one file at one time
)

// commit applies the plan: the copy, the document and the record, all of them or none.
func (s *service) commit(ctx context.Context, _ tool.Scope, p *Plan) (planner.Report[ConnectResult], error) {
	k := p.work
	if k.in.DryRun || !k.changes() {
		return p.report(p.answer(false)), nil
	}
	home := deployment.Locations{Home: k.world.Join(s.Here.Home, recordsDir)}
	if err := s.mend(ctx, home.Home); err != nil {
		return planner.Report[ConnectResult]{}, err
	}
	minted, err := s.mint(ctx, &k)
	if err != nil {
		return planner.Report[ConnectResult]{}, err
	}
	a := p.answer(true)
	writes, err := s.writes(ctx, &k, &a)
	if err == nil {
		_, err = s.Machine.Apply(ctx, deployment.Transaction{Kind: deployment.KindEdit, Place: home, Writes: writes}, nil)
	}
	if err != nil {
		if minted {
			err = s.unmint(context.WithoutCancel(ctx), &k, err)
		}
		return planner.Report[ConnectResult]{}, err
	}
	report := p.report(a)
	if k.revoke {
		if err := s.Keys.Revoke(context.WithoutCancel(ctx), k.key()); err != nil {
			report.Warnings = append(report.Warnings, "the token "+k.key()+" could not be revoked; revoke it by hand: countersign token revoke "+k.key())
		}
	}
	return report, nil
}

// mend finishes an interrupted operation if anything of it was written, and undoes it otherwise. A finished one makes this plan stale, so that it is
// made again.
func (s *service) mend(ctx context.Context, home string) error {
	pending, err := s.Recovery.Pending(ctx, home)
	if err != nil || pending == nil {
		return err
	}
	if pending.Done == 0 {
		_, err = s.Recovery.Undo(ctx, home)
		return err
	}
	if _, err = s.Recovery.Resume(ctx, home); err != nil {
		return err
	}
	return deployment.ErrStale.WithMessage("an earlier connection had been interrupted, and is finished now; look again")
}

// mint creates the token for which the plan has a placeholder, or takes that of the gateway, and computes the document with it. minted is the name of
// a created one.
func (s *service) mint(ctx context.Context, k *work) (minted bool, err error) {
	if !k.mints() {
		return false, nil
	}
	if k.in.Sandbox != "" {
		at, err := s.access(ctx, k.in.Sandbox)
		if err != nil {
			return false, err
		}
		if at.URL != k.offer.URL {
			return false, deployment.ErrStale.WithMessage("the gateway moved to %s since the plan was made; look again", at.URL)
		}
		k.offer.Secret = at.Secret
	} else if k.offer.Secret, err = s.Keys.Renew(ctx, k.key(), s.reach(k.in)); err != nil {
		return false, err
	}
	if k.want, err = k.offer.Server(k.host, k.doc.Dialect); err == nil {
		err = s.edit(k)
	}
	return k.in.Sandbox == "", err
}

// unmint revokes a token that is not needed after all.
func (s *service) unmint(ctx context.Context, k *work, reason error) error {
	if err := s.Keys.Revoke(ctx, k.key()); err != nil {
		return fmt.Errorf("%w; the token %s that was made for it could not be revoked", reason, k.key())
	}
	return reason
}

// writes returns the copy of the document, the document, and the record.
func (s *service) writes(ctx context.Context, k *work, a *ConnectResult) ([]deployment.Write, error) {
	var out []deployment.Write
	if k.sight.there() && k.writes() {
		backup, err := s.backup(ctx, k)
		if err != nil {
			return nil, err
		}
		a.Backup, a.BackupPx = backup, deployment.PosixPath(backup)
		out = append(out, put(s.Here.Home, backup, deployment.Seen{}, k.sight.data, privateMode))
	}
	dir := k.world.Paths.Clean(k.sight.real + string(s.Here.Sep) + "..")
	if k.in.scope() == deployment.ScopeProject {
		dir = k.world.Place.ProjectRoot // nothing is written through links that lead out of it
	}
	switch {
	case !k.writes(): // only the token is revoked
	case k.gone:
		out = append(out, deployment.Write{Op: deployment.OpDelete, Path: k.sight.real, Root: dir, Before: k.sight.seen})
	case k.sight.there():
		out = append(out, put(dir, k.sight.real, k.sight.seen, k.after, k.sight.seen.Mode))
	case k.offer.Remote():
		out = append(out, put(dir, k.sight.real, k.sight.seen, k.after, privateMode))
	default:
		out = append(out, put(dir, k.sight.real, k.sight.seen, k.after, deployment.PlainMode))
	}
	record, err := s.remember(k)
	if err != nil || record == nil {
		return out, err
	}
	return append(out, *record), nil
}

func put(root, path string, now deployment.Seen, data []byte, mode fs.FileMode) deployment.Write {
	content := deployment.ContentOf(data)
	w := deployment.Write{Op: deployment.OpUpdate, Path: path, Root: root, Before: now, Data: content,
		After: deployment.Seen{Kind: deployment.Regular, Sum: content.Sum, Size: content.Size, Mode: mode}}
	if now.Kind == deployment.Absent {
		w.Op = deployment.OpCreate
	}
	return w
}

// backup returns a free path for the copy.
func (s *service) backup(ctx context.Context, k *work) (string, error) {
	base := k.world.Join(s.Here.Home, backupsDir+"/"+k.host.Name+"-"+s.Clock.Now().UTC().Format(stamp))
	for n := range maxBackups {
		path := base + ".bak"
		if n > 0 {
			path = fmt.Sprintf("%s-%d.bak", base, n)
		}
		o, err := s.Machine.Observe(ctx, deployport.Look{Place: k.world.Place, Paths: []string{path}})
		if err != nil {
			return "", err
		}
		if o.Files[path].Kind == deployment.Absent {
			return path, nil
		}
	}
	return "", deployment.ErrDisk.WithMessage("no copy of %s can be kept: there are %d of this moment in %s", k.sight.real, maxBackups, k.world.Join(s.Here.Home, backupsDir))
}

// remember returns the write of the record of the connection; nil if it does not change.
func (s *service) remember(k *work) (*deployment.Write, error) {
	now := k.memory.seen
	if k.in.Remove {
		if now.Kind == deployment.Absent {
			return nil, nil
		}
		return &deployment.Write{Op: deployment.OpDelete, Path: k.memory.path, Root: s.Here.Home, Before: now}, nil
	}
	r := record{Host: k.host.Name, Scope: k.in.scope(), Name: k.in.name(), Path: k.sight.real, Program: k.offer.Program, URL: k.offer.URL, Made: k.memory.Made, Created: k.memory.Created}
	if k.before == nil { // the entry that was made before is the user's now
		set, _, err := k.keys()
		if err != nil {
			return nil, err
		}
		if r.Made, err = s.Documents.Made(k.doc.Format, k.sight.data, set); err != nil {
			return nil, uneditable(k.sight, err)
		}
		r.Created = !k.sight.there()
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	w := put(s.Here.Home, k.memory.path, now, append(text, '\n'), privateMode)
	if now.Kind == deployment.Regular && bytes.Equal(w.After.Sum[:], now.Sum[:]) {
		return nil, nil
	}
	return &w, nil
}
