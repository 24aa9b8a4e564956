package local

import (
	"context"
	"sync"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Ecosystems is how the runs of ecosystems are carried out.
type Ecosystems struct {
	Dir string // stands for the working directory: the workspace root is looked for from here
	// Worker is a program, absolute, with arguments before --root and --ecosystem that make it call DrainEcosystem. Without one, runs are carried
	// out in this process, which waits for them when it closes.
	Worker []string
}

// ecosystems returns the toolset of several repositories as one. It opens nothing.
func (l *Local) ecosystems(core app.Dependencies) []toolset {
	c := l.config
	l.ecosystem = sync.OnceValue(func() *EcosystemHost {
		h := NewEcosystemHost(EcosystemOptions{Core: core, Operator: l.operator, Version: c.Options.Version, Env: c.Env, Home: l.sandboxHome(), State: c.Dir,
			Dir: c.Ecosystems.Dir, Worker: c.Ecosystems.Worker, Supervisor: c.Projects.Supervisor})
		l.atClose = append(l.atClose, h.Close)
		return h
	})
	return []toolset{{name: EcosystemToolset, build: func() tool.Capability { return l.ecosystem().Capability() }}}
}

// DrainEcosystem carries out the queued runs of an ecosystem until none is left. Processes that the Ecosystems.Worker of a Config starts call it.
func (l *Local) DrainEcosystem(ctx context.Context, root, name string) error {
	return l.ecosystem().Drain(ctx, root, name)
}
