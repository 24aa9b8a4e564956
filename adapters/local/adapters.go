package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/adapters/gitcli/ecogit"
	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// maxWorkers is the maximum number of ecosystem processes: waiting workers, and services of the built-in provisioner.
const maxWorkers = 256

// parts is the adapters of the ecosystem tools on this machine.
type parts struct {
	files     *ecosystemfile.Store
	processes *osproc.Processes
	workers   ecosystemport.Workers
	watch     ecosystemport.RunWatch
	surveyor  ecosystemport.Surveyor
	tickets   ecogit.TicketClient
	clones    *ecogit.Client
	pushes    *ecogit.PushClient
	trash     *ecogit.Trash
	releases  *ecogit.ReleaseClient
	finder    ecosystemfile.ProvisionerFinder
}

// pause is the delay before a push is retried, doubled each time (amof contract §20.9).
const pause = time.Second

// grace is how long programs started by a killed process have to exit.
const grace = 5 * time.Second

func (h *EcosystemHost) adapters() parts {
	o := h.options
	files := ecosystemfile.New(ecosystemfile.Options{Env: o.Env, Home: o.Home, Dir: o.Dir, Clock: o.Core.Clock, Redact: o.Core.Redact, Init: ecogit.InitRoot, Carry: osproc.ForWork, End: orphans})
	processes := osproc.New(osproc.Options{Dir: filepath.Join(o.State, "ecosystems"), Clock: o.Core.Clock, Redact: o.Core.Redact, Judge: o.Core.Owner.Judge, Supervisor: o.Supervisor, Background: maxWorkers})
	runs := files.Runs()
	return parts{files: files, processes: processes, workers: h.workers(files, processes), watch: ecosystemfile.NewWatch(runs), surveyor: ecogit.NewSurveyor(),
		tickets: ecogit.NewTicketClient(o.Core.Clock), clones: ecogit.New(ecogit.Options{}), pushes: ecogit.NewPushClient(pause), trash: ecogit.NewTrash(nil), releases: ecogit.NewReleaseClient(), finder: ecosystemfile.ProvisionerFinder{}}
}

// orphans ends the programs that were started for that work.
func orphans(work string) []int {
	_, _, left := osproc.ProcessTree{Mark: osproc.WorkMark(work)}.End(grace)
	return left
}

// workers runs the queue in a worker process; without a configured one, in this process.
func (h *EcosystemHost) workers(files *ecosystemfile.Store, processes *osproc.Processes) ecosystemport.Workers {
	if len(h.options.Worker) == 0 || len(h.options.Supervisor) == 0 {
		return &within{Workers: ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: files.WorkerDir, Command: []string{"-"}, Start: nil}), host: h}
	}
	return ecosystemfile.NewWorkers(ecosystemfile.WorkerOptions{Dir: files.WorkerDir, Command: h.options.Worker, Start: func(ctx context.Context, argv []string, dir string) error {
		_, err := processes.Start(ctx, process.Spec{Argv: argv, Dir: dir, Env: h.environment(), Labels: map[string]string{"ecosystem": "worker"}})
		return err
	}})
}

// environment returns the environment of a worker: what programs need, paths, the committer, and the settings of SSH and proxies.
func (h *EcosystemHost) environment() map[string]string {
	inherited := os.Environ()
	var pass []string
	for _, v := range inherited {
		name, _, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"AMOF_", "XDG_", "COUNTERSIGN_", "GIT_AUTHOR_", "GIT_COMMITTER_", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DOCKER_", "KUBECONFIG"} {
			if strings.HasPrefix(name, prefix) {
				pass = append(pass, name)
			}
		}
	}
	env, _ := process.ChildEnvironment(inherited, pass, map[string]string{"COUNTERSIGN_HOME": h.options.State}, nil)
	return env
}

// within runs the queue in this process.
type within struct {
	*ecosystemfile.Workers
	host  *EcosystemHost
	going sync.WaitGroup
}

// Wake processes the queue in a new goroutine.
func (w *within) Wake(ctx context.Context, l ecosystem.Layout) error {
	ctx = context.WithoutCancel(ctx)
	w.going.Go(func() {
		if err := w.host.Drain(ctx, l.Root, l.Name); err != nil {
			w.host.options.Core.Log.Error("the runs of an ecosystem could not be started", "ecosystem", l.Name, "cause", err)
		}
	})
	return nil
}

// Close waits for the running runs.
func (w *within) Close() error {
	w.going.Wait()
	return nil
}
