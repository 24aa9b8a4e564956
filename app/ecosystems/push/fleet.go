package push

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Yard looks at fleets and sends them. Every field is required.
type Yard struct {
	States     ecosystemport.States
	Shipping   ecosystemport.Shipping
	Committing ecosystemport.Committing
	Clock      ports.Clock
}

const parallel = 8 // repositories that are looked at at a time

// MaxFiles are named at most; more are counted.
const MaxFiles = 100

// Vessel is a working tree whose branch may be pushed, and what was seen of it.
type Vessel struct {
	Name   string // of the repository; empty: the workspace itself
	Ticket string
	Want   string // the branch it is to be on; empty: any
	Skip   string // why it is left alone; empty: it is not
	Berth  ecosystemport.Berth
	Cargo  ecosystemport.Cargo
}

// Title is what people call it.
func (v *Vessel) Title() string {
	switch {
	case v.Name == "":
		return "workspace"
	case v.Ticket != "":
		return v.Name + " (" + v.Ticket + ")"
	}
	return v.Name
}

// Commits reports whether changes are committed first.
func (v *Vessel) Commits(o Order) bool {
	return o.CommitAll && v.Skip == "" && len(v.Cargo.Changes) > 0
}

// Pushes reports whether there is something to push. Where origin has what is not known here, git will say what becomes of it.
func (v *Vessel) Pushes(o Order) bool {
	c := v.Cargo
	return v.Skip == "" && !o.Offline && (v.Commits(o) || c.Head != c.RemoteHead && (c.RemoteHead == "" || c.Ahead > 0))
}

// Look is what an order is about, looked at. It asks the remotes for the branches, unless the order keeps to this machine.
func (y Yard) Look(ctx context.Context, f runs.Found, o Order) ([]*Vessel, error) {
	fleet, err := muster(f, o)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, v := range fleet {
		if v.Skip != "" {
			continue
		}
		group.Go(func() (err error) {
			v.Cargo, err = y.Shipping.Look(ctx, v.Berth, !o.Offline)
			if err != nil && ctx.Err() == nil {
				v.Skip, err = Said(err), nil // one repository that is broken keeps no other from being pushed
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, v := range fleet {
		if v.Skip == "" {
			v.Skip = unfit(v, o)
		}
	}
	return fleet, y.secrets(f, fleet, o)
}

// muster is the working trees that an order is about.
func muster(f runs.Found, o Order) ([]*Vessel, error) {
	if _, err := Workspace(f); err != nil {
		return nil, err
	}
	chosen, err := f.Manifest().Choose(o.Repos)
	if err != nil {
		return nil, err
	}
	var fleet []*Vessel
	active := f.State.Active()
	for _, r := range chosen {
		v := &Vessel{Name: r.Name, Berth: ecosystemport.Berth{Dir: path.Join(f.State.WorkspaceDir, r.Path)}}
		switch {
		case r.ReadOnly && slices.Contains(o.Repos, r.Name):
			return nil, ecosystem.ErrReadOnly.Sayf("repository %s is read-only in ecosystem %s and is never pushed; leave it out, or set readonly: false in the manifest", r.Name, f.Layout.Name)
		case r.ReadOnly:
			v.Skip = "it is read-only"
		case active != "" && !o.Whole:
			v.board(f, active)
		}
		fleet = append(fleet, v)
		if o.Whole && !r.ReadOnly {
			fleet = append(fleet, tickets(f, r.Name)...)
		}
	}
	if len(o.Repos) == 0 {
		berth := ecosystemport.Berth{Dir: f.State.WorkspaceDir, Outside: Outside(f)}
		fleet = append(fleet, &Vessel{Want: f.State.WorkspaceBranch, Berth: berth})
	}
	return fleet, nil
}

// board has the vessel be the repository's worktree of a ticket.
func (v *Vessel) board(f runs.Found, ticket string) {
	t := f.State.Tickets[ticket]
	v.Ticket, v.Want, v.Berth.Dir = ticket, t.Repos[v.Name], path.Join(t.WorktreeBase, v.Name)
	if v.Want == "" {
		v.Skip = "it is not part of ticket " + ticket
	}
}

// tickets are the worktrees of a repository in every ticket.
func tickets(f runs.Found, repo string) (fleet []*Vessel) {
	ids := make([]string, 0, len(f.State.Tickets))
	for id, t := range f.State.Tickets {
		if t.Repos[repo] != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		v := &Vessel{Name: repo}
		v.board(f, id)
		fleet = append(fleet, v)
	}
	return fleet
}

// unfit says why a working tree cannot be pushed as it is, or nothing.
func unfit(v *Vessel, o Order) string {
	c := v.Cargo
	switch {
	case c.Missing && v.Ticket != "":
		return "the ticket's worktree is missing; amof_ticket_switch makes it anew"
	case c.Missing:
		return "there is no repository at " + v.Berth.Dir + "; amof_sync_ecosystem clones it"
	case c.Doing != "":
		return fmt.Sprintf("it is in the middle of a %s; finish or abort that (git %s --abort)", c.Doing, c.Doing)
	case c.Branch == "":
		return "it is on no branch (detached HEAD); switch to one, or make one (git switch -c)"
	case v.Want != "" && c.Branch != v.Want:
		return fmt.Sprintf("it is on %s instead of %s", c.Branch, v.Want)
	case c.Remote == "" && !o.Offline:
		return "it has no remote"
	case c.Head == "" && !o.CommitAll:
		return "it has no commit"
	}
	for _, change := range c.Changes {
		if o.CommitAll && strings.HasSuffix(change.Path, "/") {
			return "it holds another repository at " + change.Path + "; move that away, or have git ignore it"
		}
	}
	return ""
}

// Secret is a file that must not be committed.
type Secret struct {
	Repo    string `json:"repo"`
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
}

// secrets refuses, before anything is done, to commit what is protected.
func (y Yard) secrets(f runs.Found, fleet []*Vessel, o Order) error {
	rules := ecosystem.NewProtected(f.Manifest().NoTouch)
	var found []Secret
	for _, v := range fleet {
		if v.Commits(o) {
			found = append(found, secretsIn(rules, v, staying(v.Cargo.Changes))...)
		}
	}
	return refuse(found)
}

func secretsIn(rules ecosystem.Rules, v *Vessel, paths []string) (found []Secret) {
	for _, hit := range rules.Find(paths) {
		found = append(found, Secret{Repo: v.Title(), Path: strings.ToValidUTF8(hit.Path, "\uFFFD"), Pattern: hit.Pattern})
	}
	return found
}

func refuse(found []Secret) error {
	if len(found) == 0 {
		return nil
	}
	first := found[0]
	return ecosystem.ErrSecrets.Sayf("%d files that must not leave this machine would be committed, the first being %s in %s (pattern %s); have git ignore them, or commit the rest by hand",
		len(found), first.Path, first.Repo, first.Pattern).With(map[string]any{"files": found[:min(len(found), MaxFiles)], "count": len(found)})
}

// staying are the paths of changes that leave something behind: a secret that is deleted may go.
func staying(changes []ecosystemport.Change) (paths []string) {
	for _, c := range changes {
		if !c.Gone {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// Fact is what of a working tree a preview rests on (amof contract §14).
type Fact struct {
	Name      string `json:"name"`
	Ticket    string `json:"ticket,omitempty"`
	Branch    string `json:"branch,omitempty"`
	Head      string `json:"head,omitempty"`
	Remote    string `json:"remote_head,omitempty"`
	PushTo    string `json:"push_to,omitempty"`
	Porcelain string `json:"porcelain,omitempty"`
	Hooks     string `json:"hooks,omitempty"`
	Skip      string `json:"skip,omitempty"`
}

// Facts are what the preview of a fleet rests on.
func Facts(fleet []*Vessel) []Fact {
	out := make([]Fact, len(fleet))
	for i, v := range fleet {
		c := v.Cargo
		out[i] = Fact{Name: v.Name, Ticket: v.Ticket, Branch: c.Branch, Head: c.Head, Remote: c.RemoteHead, PushTo: c.Remote, Porcelain: c.Porcelain, Hooks: c.HooksHash, Skip: v.Skip}
	}
	return out
}
