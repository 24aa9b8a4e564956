package ecosystemfile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// The one file in which version 3 kept the state of whichever ecosystem was installed last (amof contract §4), and where it is put down that such
// a file was taken over: in the state directory, so that one workspace takes it, once.
const (
	thirdVersion = 3
	legacyFile   = ".amof/state.json"
	tookFile     = "imported-v3.json"
)

// earlier is a state of version 3 as the version there is now.
type earlier struct {
	state ecosystem.State
	path  string
	sum   string
}

// stateTaken is the record of a file that was taken over.
type stateTaken struct {
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Ecosystem string `json:"ecosystem"`
	Root      string `json:"workspace_root"`
}

// earlier returns what version 3 recorded of the ecosystem, unless it was taken over before. A file that cannot be read is passed over: it is not ours.
func (b *StateStore) earlier(l ecosystem.Layout) (*earlier, error) {
	config, err := b.o.Config()
	if err != nil {
		return nil, err
	}
	for _, file := range []struct{ dir, name string }{{l.Workspace, legacyFile}, {l.Root, legacyFile}, {config, stateFile}} {
		text, _, err := docfile.NewDir(file.dir).Read(file.name, maxState)
		if err != nil {
			continue
		}
		var doc third
		if json.Unmarshal(text, &doc) != nil || doc.Version != thirdVersion || doc.Ecosystem != l.Name {
			continue
		}
		sum := sha256.Sum256(text)
		e := &earlier{state: doc.state(l), path: filepath.Join(file.dir, filepath.FromSlash(file.name)), sum: hex.EncodeToString(sum[:])}
		was, err := b.taken()
		if err != nil {
			return nil, err
		}
		if was.has(e) {
			continue
		}
		return e, nil
	}
	return nil, nil
}

// imports are the files that were taken over.
type imports []stateTaken

func (i imports) has(e *earlier) bool {
	for _, t := range i {
		if t.Path == e.path && t.SHA256 == e.sum {
			return true
		}
	}
	return false
}

func (b *StateStore) taken() (imports, error) {
	state, err := b.o.State()
	if err != nil {
		return nil, err
	}
	text, _, err := docfile.NewDir(state).Read(tookFile, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var was imports
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err != nil {
		err = ecosystem.ErrState.WithMessage("%s cannot be used; move it away", filepath.Join(state, tookFile)).WithCause(err)
	}
	return was, err
}

// take puts down that the file was taken over.
func (b *StateStore) take(ctx context.Context, l ecosystem.Layout, e *earlier) error {
	if e == nil {
		return nil
	}
	state, err := b.o.State()
	if err != nil {
		return err
	}
	lock, err := docfile.NewDir(state).Lock(ctx, "locks/v3.lock") // other workspaces look at the same file
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // closing is all there is to it
	was, err := b.taken()
	if err != nil {
		return err
	}
	text, err := encodeState(append(was, stateTaken{Path: e.path, SHA256: e.sum, Ecosystem: l.Name, Root: l.Root}))
	return cmp.Or(err, docfile.NewDir(state).Write(tookFile, text))
}

// third is the imported part of a state of version 3. Its times may have no zone.
type third struct {
	Version         int     `json:"version"`
	Ecosystem       string  `json:"ecosystem"`
	WorkspaceBranch string  `json:"workspace_branch"`
	ActiveTicket    *string `json:"active_ticket"`
	Tickets         map[string]struct {
		CreatedAt    moment            `json:"created_at"`
		Repos        map[string]string `json:"repos"`
		WorktreeBase string            `json:"worktree_base"`
		Phase        string            `json:"phase"`
	} `json:"tickets"`
	Repos []struct {
		Name     string `json:"name"`
		URL      string `json:"url"`
		Path     string `json:"path"`
		Branch   string `json:"branch"`
		ReadOnly bool   `json:"readonly"`
		Enabled  *bool  `json:"enabled"`
		LastPush *struct {
			Branch     string `json:"branch"`
			Commit     string `json:"commit"`
			CommitFull string `json:"commit_full"`
			PushedAt   moment `json:"pushed_at"`
		} `json:"last_push"`
	} `json:"repos"`
	CreatedAt moment `json:"created_at"`
}

// moment is a time that was written with or without a zone; an invalid one is the zero time.
type moment struct{ at time.Time }

// UnmarshalJSON is for package json.
func (m *moment) UnmarshalJSON(text []byte) error {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(form, strings.Trim(string(text), `"`)); err == nil {
			m.at = at.UTC()
			break
		}
	}
	return nil
}

func (t third) state(l ecosystem.Layout) ecosystem.State {
	s := ecosystem.State{
		Version: ecosystem.StateVersion, Ecosystem: l.Name, Root: l.Root, WorkspaceBranch: t.WorkspaceBranch, WorkspaceDir: l.Workspace,
		Tickets: map[string]ecosystem.Ticket{}, Repos: []ecosystem.RepoState{}, CreatedAt: t.CreatedAt.at, LastModified: t.CreatedAt.at,
	}
	for id, ticket := range t.Tickets {
		if ecosystem.CheckTicket(id) == nil {
			s.Tickets[id] = ecosystem.Ticket{CreatedAt: ticket.CreatedAt.at, Repos: ticket.Repos, WorktreeBase: ticket.WorktreeBase, Ecosystem: l.Name,
				Phase: cmp.Or(ticket.Phase, "started")}
		}
	}
	if _, ok := s.Tickets[strings.TrimSpace(deref(t.ActiveTicket))]; ok {
		s.ActiveTicket = t.ActiveTicket
	}
	for _, r := range t.Repos {
		repo := ecosystem.RepoState{Name: r.Name, URL: r.URL, Path: r.Path, Branch: r.Branch, ReadOnly: r.ReadOnly, Enabled: r.Enabled == nil || *r.Enabled}
		if p := r.LastPush; p != nil {
			repo.LastPush = &ecosystem.Push{Branch: p.Branch, Commit: p.Commit, CommitFull: p.CommitFull, PushedAt: p.PushedAt.at}
		}
		s.Repos = append(s.Repos, repo)
	}
	return s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
