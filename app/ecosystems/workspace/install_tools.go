package workspace

import (
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// The typed handles.
var (
	Install = tool.Ref[InstallInput, runs.QueuedRun]{Name: "amof_install_ecosystem"}
	Sync    = tool.Ref[SyncInput, runs.QueuedRun]{Name: "amof_sync_ecosystem"}
)

// The runs' actions.
const (
	actionInstall = "install"
	actionSync    = "sync"
)

// parallel is how many repositories are worked on at a time.
const parallel = 8

// InstallDeps is what the tools work with. Tickets may be nil; every other field is required.
type InstallDeps struct {
	runs.Deps
	Grounds ecosystemport.WorkspaceInstaller
	Clones  ecosystemport.Clones
	Tickets ecosystemport.TicketTrees
	Trash   ecosystemport.Trash // which lists what archives saved
}

// InstallInput is an ecosystem to install.
type InstallInput struct {
	runs.Target
	Push bool `json:"push,omitempty" jsonschema:"description=push the workspace branch to the root's origin afterwards"`
}

// SyncInput is an ecosystem to sync.
type SyncInput struct {
	runs.Target
	Repos []string `json:"repos,omitempty" jsonschema:"description=only these repositories; default all"`
}

type service struct{ InstallDeps }

// InstallEntries returns the tools.
func InstallEntries(d InstallDeps) []tool.Entry {
	s := service{d}
	return []tool.Entry{
		bind.Command(Install, runs.DangerousSpec(policy.Simple, "Install ecosystem", "Make the ecosystem's workspace: a git worktree of the workspace root with a clone of every repository, whole or not at all. "+
			"Queued; answers with a run_id.", installSchema), s.planInstall, s.install),
		bind.Command(Sync, runs.SafeWriteSpec("Sync ecosystem", "Clone what is missing of the ecosystem's repositories and fast-forward the rest; what has changes, has diverged or is on another branch is "+
			"left as it is and reported. Queued; answers with a run_id.", syncSchema), s.planSync, s.sync),
	}
}

// Performers carry out the runs.
func Performers(d InstallDeps) []runs.Performer {
	s := service{d}
	limit := int(ecosystem.LifecycleTimeout.Seconds())
	return []runs.Performer{
		{Action: actionInstall, Limit: limit, Facts: s.installFacts, Do: s.performInstall, Recover: s.recoverInstall},
		{Action: actionSync, Limit: limit, Facts: s.syncFacts, Do: s.performSync, Recover: s.recoverSync},
	}
}

// line is one of a run's log, or the end of one repository's part.
type line struct {
	level, text string
	done        bool
}

// each does work for each of n repositories, several at a time; what they tell is logged in one place, with how many are done.
func each(j runs.Job, n int, work func(i int, tell ecosystemport.ProgressFunc)) {
	lines := make(chan line)
	var outer, inner errgroup.Group
	inner.SetLimit(parallel)
	outer.Go(func() error {
		defer close(lines)
		for i := range n {
			inner.Go(func() error {
				work(i, func(level, text string) { lines <- line{level: level, text: text} })
				lines <- line{done: true}
				return nil
			})
		}
		return inner.Wait()
	})
	done := 0
	for l := range lines {
		if !l.done {
			j.Log(l.level, l.text)
			continue
		}
		if done++; n > 1 && (done == n || done%parallel == 0) {
			j.Percent(done, n)
		}
	}
	_ = outer.Wait()
}

// named prefixes a message with a repository's name.
func named(name string, tell ecosystemport.ProgressFunc) ecosystemport.ProgressFunc {
	return func(level, text string) { tell(level, name+": "+text) }
}

// payload reads what a run was queued with.
func payload[T any](doc json.RawMessage) (out T, err error) {
	if len(doc) > 0 {
		err = json.Unmarshal(doc, &out)
	}
	return out, err
}

// count returns a number of things in words.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
