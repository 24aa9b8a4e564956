package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// StopIdle stops servers that exceed their idle or memory limit in the settings, and returns their projects. A stopped server starts again when a
// message is routed to it.
func (m ProjectManager) StopIdle(ctx context.Context) ([]string, error) {
	state, err := m.Current(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	var failures error // a failure for one must not stop the others
	for _, p := range sandbox.ProjectsByName(state) {
		for box := range p.Servers() {
			if m.overdue(ctx, p, box) == "" {
				continue
			}
			gone, err := m.evict(ctx, p, box)
			if failures = errors.Join(failures, err); gone {
				out = append(out, sandbox.ServerID(p.Name, box))
			}
		}
	}
	return out, failures
}

// UsageInterval is how often the use of a server is recorded; idle limits are extended by it.
const UsageInterval = time.Minute

// overdue returns why a project's server, or the one of a sandbox's own, is to be stopped, or empty.
func (m ProjectManager) overdue(ctx context.Context, p sandbox.Project, box string) string {
	server := p.ServerOf(box)
	if server.Status != sandbox.Running {
		return ""
	}
	settings, err := m.settingsOf(ctx, FoundProject{URL: p.URL, Project: p}, p.Sandboxes[sandbox.SandboxKey(box)])
	if err != nil {
		return ""
	}
	if settings.MemoryLimitMB > 0 {
		if mb, err := m.Sockets.ResidentMB(server.PID); err == nil && mb > settings.MemoryLimitMB {
			return fmt.Sprintf("stopped: it used %d MB, and may use %d", mb, settings.MemoryLimitMB)
		}
	}
	used := server.UsedAt
	if used.Before(server.StartedAt) {
		used = server.StartedAt
	}
	idle := m.Clock.Now().Sub(used)
	if settings.IdleStop <= 0 || idle < settings.IdleStop+UsageInterval || m.working(ctx, p, box, settings) {
		return ""
	}
	return fmt.Sprintf("stopped: idle for %v", idle.Round(time.Second))
}

// working reports whether the server's agents work although no requests come in, and records the use then.
func (m ProjectManager) working(ctx context.Context, p sandbox.Project, of string, settings sandboxport.Settings) bool {
	dirs := []string{m.Homes.Layout(p.Name, p.BaseDir).Repo}
	for _, box := range p.Sandboxes {
		dirs = append(dirs, box.Directory)
	}
	if of != "" {
		dirs = []string{p.Sandboxes[sandbox.SandboxKey(of)].Directory}
	}
	return m.busy(ctx, p.ServerOf(of), settings, dirs) && m.RecordUse(ctx, sandbox.ServerID(p.URL.String(), of)) == nil
}

// evict stops the server, unless the reason no longer applies once it holds the lock.
func (m ProjectManager) evict(ctx context.Context, p sandbox.Project, box string) (gone bool, err error) {
	release, err := m.LockProject(ctx, p.URL)
	if err != nil {
		return false, err
	}
	defer release()
	state, err := m.Current(ctx)
	if err != nil {
		return false, err
	}
	now := state.Projects[p.URL.String()]
	why := m.overdue(ctx, now, box)
	if server, err := m.Processes.Inspect(ctx, process.ID(now.ServerOf(box).ProcessID)); why == "" || err == nil && server.Elsewhere != "" {
		return false, nil
	}
	f := FoundProject{URL: p.URL, Project: now}
	if was, err := m.StopServer(ctx, f, box); err != nil || !was {
		return false, err
	}
	return true, m.Change(ctx, f, func(p *sandbox.Project) {
		server := p.ServerOf(box)
		server.LastError = why
		p.SetServer(box, server)
	})
}

// RecordUse notes a request to the server with that ID (sandbox.ServerID). Once per UsageInterval it is stored, by whichever process comes first.
func (m ProjectManager) RecordUse(ctx context.Context, id string) error {
	state, err := m.States.Load(ctx)
	url, box := sandbox.SplitServerID(id)
	if err != nil || m.fresh(state.Projects[url].ServerOf(box)) {
		return err
	}
	_, err = m.States.Update(ctx, func(s *sandbox.State) error {
		if p, known := s.Projects[url]; known && !m.fresh(p.ServerOf(box)) {
			server := p.ServerOf(box)
			server.UsedAt = m.Clock.Now()
			p.SetServer(box, server)
			s.Projects[url] = p
		}
		return nil
	})
	return err
}

// fresh reports whether the last use was stored within UsageInterval.
func (m ProjectManager) fresh(s sandbox.Server) bool {
	since := m.Clock.Now().Sub(s.UsedAt)
	return since >= 0 && since < UsageInterval
}
