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

// StopIdle stops servers that nobody has used for as long as the settings allow, and those that use more memory than they allow. It names the projects. A
// stopped server starts again when somebody routes a message to it.
func (m ProjectManager) StopIdle(ctx context.Context) ([]string, error) {
	state, err := m.Current(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	var failures error // of one must not keep the others
	for _, p := range sandbox.ProjectsByName(state) {
		if m.overdue(ctx, p) == "" {
			continue
		}
		gone, err := m.evict(ctx, p)
		if failures = errors.Join(failures, err); gone {
			out = append(out, p.Name)
		}
	}
	return out, failures
}

// UsageInterval is how often it is written down that a server is used. So much more patience has who asks how long it was not.
const UsageInterval = time.Minute

// overdue returns why a project's server is to be stopped, or empty.
func (m ProjectManager) overdue(ctx context.Context, p sandbox.Project) string {
	if p.Server.Status != sandbox.Running {
		return ""
	}
	settings, err := m.Homes.Settings(ctx, p.Name)
	if err != nil {
		return ""
	}
	if settings.MemoryLimitMB > 0 {
		if mb, err := m.Sockets.ResidentMB(p.Server.PID); err == nil && mb > settings.MemoryLimitMB {
			return fmt.Sprintf("stopped: it used %d MB, and may use %d", mb, settings.MemoryLimitMB)
		}
	}
	used := p.Server.UsedAt
	if used.Before(p.Server.StartedAt) {
		used = p.Server.StartedAt
	}
	idle := m.Clock.Now().Sub(used)
	if settings.IdleStop <= 0 || idle < settings.IdleStop+UsageInterval || m.busy(ctx, p, settings) {
		return ""
	}
	return fmt.Sprintf("stopped: nobody used it for %v", idle.Round(time.Second))
}

// busy reports a server whose agents work although nobody asks for anything, and notes that it is used.
func (m ProjectManager) busy(ctx context.Context, p sandbox.Project, settings sandboxport.Settings) bool {
	dirs := []string{m.Homes.Layout(p.Name, p.BaseDir).Repo}
	for _, box := range p.Sandboxes {
		dirs = append(dirs, box.Directory)
	}
	return m.Launcher.Busy(ctx, settings, p.Server.Port, dirs) && m.RecordUse(ctx, p.URL.String()) == nil
}

// evict stops the server, unless the reason has gone while others were at it.
func (m ProjectManager) evict(ctx context.Context, p sandbox.Project) (gone bool, err error) {
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
	why := m.overdue(ctx, now)
	if server, err := m.Processes.Inspect(ctx, process.ID(now.Server.ProcessID)); why == "" || err == nil && server.Elsewhere != "" {
		return false, nil
	}
	f := FoundProject{URL: p.URL, Project: now}
	if was, err := m.StopServer(ctx, f); err != nil || !was {
		return false, err
	}
	return true, m.Change(ctx, f, func(p *sandbox.Project) { p.Server.LastError = why })
}

// RecordUse notes that somebody asks the project's server for something. Once in a while that is written down, by whichever process comes first.
func (m ProjectManager) RecordUse(ctx context.Context, url string) error {
	state, err := m.States.Load(ctx)
	if err != nil || m.fresh(state.Projects[url].Server) {
		return err
	}
	_, err = m.States.Update(ctx, func(s *sandbox.State) error {
		if p, known := s.Projects[url]; known && !m.fresh(p.Server) {
			p.Server.UsedAt = m.Clock.Now()
			s.Projects[url] = p
		}
		return nil
	})
	return err
}

// fresh reports that the last use was written down lately.
func (m ProjectManager) fresh(s sandbox.Server) bool {
	since := m.Clock.Now().Sub(s.UsedAt)
	return since >= 0 && since < UsageInterval
}
