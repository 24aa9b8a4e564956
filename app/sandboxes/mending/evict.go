package mending

import (
	"context"
	"fmt"

	"github.com/countersign-dev/countersign/app/sandboxes/basis"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// Evict stops servers that nobody has used for as long as the settings allow, and those that use more memory than they allow. It names the projects. A
// stopped server starts again when somebody routes a message to it.
func (m Mender) Evict(ctx context.Context) ([]string, error) {
	state, err := m.Current(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range sandbox.ByName(state) {
		why := m.overdue(ctx, p)
		if why == "" {
			continue
		}
		if err := m.evict(ctx, p, why); err != nil {
			return out, err
		}
		out = append(out, p.Name)
	}
	return out, nil
}

// overdue is why a project's server is to be stopped, or empty.
func (m Mender) overdue(ctx context.Context, p sandbox.Project) string {
	if p.Server.Status != sandbox.Running {
		return ""
	}
	settings, err := m.Homes.Settings(ctx, p.Name)
	if err != nil {
		return ""
	}
	used := p.Server.UsedAt
	if used.Before(p.Server.StartedAt) {
		used = p.Server.StartedAt
	}
	if idle := m.Clock.Now().Sub(used); settings.IdleStop > 0 && idle >= settings.IdleStop {
		return fmt.Sprintf("stopped: nobody used it for %v", idle.Round(1e9))
	}
	if settings.MemoryLimitMB == 0 {
		return ""
	}
	if mb, err := m.Sockets.ResidentMB(p.Server.PID); err == nil && mb > settings.MemoryLimitMB {
		return fmt.Sprintf("stopped: it used %d MB, and may use %d", mb, settings.MemoryLimitMB)
	}
	return ""
}

func (m Mender) evict(ctx context.Context, p sandbox.Project, why string) error {
	release, err := m.States.Hold(ctx, p.URL)
	if err != nil {
		return err
	}
	defer release()
	f := basis.Found{URL: p.URL, Project: p}
	if was, err := m.Halt(ctx, f); err != nil || !was {
		return err
	}
	return m.Change(ctx, f, func(p *sandbox.Project) { p.Server.LastError = why })
}

// Used notes that somebody has asked the project's server for something.
func (m Mender) Used(ctx context.Context, url string) error {
	_, err := m.States.Update(ctx, func(s *sandbox.State) error {
		if p, known := s.Projects[url]; known {
			p.Server.UsedAt = m.Clock.Now()
			s.Projects[url] = p
		}
		return nil
	})
	return err
}
