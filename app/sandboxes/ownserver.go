package sandboxes

import (
	"context"
	"maps"
	"strings"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// planOwn plans to start the server that an isolated sandbox has of its own.
func (s service) planOwn(ctx context.Context, name tool.Name, url, boxed string) (startPlan, error) {
	f, err := s.Must(ctx, url)
	if err != nil {
		return startPlan{}, err
	}
	box, err := must(f, boxed)
	if err != nil {
		return startPlan{}, err
	}
	if err := sandbox.CheckOwnServer(box); err != nil {
		return startPlan{}, err
	}
	p := startPlan{found: f, box: box}
	p.runs = name == ProjectStart.Name && f.Project.Doing == nil && f.Project.ServerOf(box.Name).Status == sandbox.Running && f.State.Gateway.Status == sandbox.Running
	shown := map[string]any{"git_url": f.URL.String(), "project": f.Project.Name, "sandbox": box.Name, "directory": box.Directory, "isolated_by": box.Isolation,
		"not_bound": []string{loads + ", as far as the isolation lets it"}}
	if !p.runs {
		settings, err := s.settingsOf(ctx, f, box)
		if err != nil {
			return p, err
		}
		if err := installed(settings); err != nil {
			return p, err
		}
		if err := s.Isolator.Check(box.Isolation); err != nil {
			return p, err
		}
		if shown["isolation"], err = s.isolationShown(f, box, nil); err != nil {
			return p, err
		}
	}
	verb := "start"
	if name == ProjectRestart.Name {
		verb = "restart"
	}
	p.Plan, err = NewPlan(name, verb+" an agent server of its own in sandbox "+box.Name+" of "+f.Project.Name+", isolated by "+box.Isolation, shown, ConfirmOptions{Nothing: p.runs})
	return p, err
}

// settingsOf returns how a project's server is started and asked, or the server of a sandbox's own: with a password of its own, and on this machine alone.
func (d Deps) settingsOf(ctx context.Context, f FoundProject, box sandbox.Sandbox) (sandboxport.Settings, error) {
	settings, err := d.Homes.Settings(ctx, f.Project.Name)
	if err == nil && box.Name != "" {
		settings.Password = sandbox.ServerPassword(settings.Password, sandbox.ServerID(f.URL.String(), box.Name), sandbox.SecretKey(box.CreatedAt))
		settings.Host, settings.Port = "", 0
	}
	return settings, err
}

// served returns the sandbox whose own server works in it; zero where the project's does.
func served(box sandbox.Sandbox) sandbox.Sandbox {
	if box.Isolation == "" {
		return sandbox.Sandbox{}
	}
	return box
}

// ownReady brings f up to date and returns how the sandbox's own server is started. It fails when the sandbox is not what it was when it was looked at. It is called
// by who holds the project.
func (s service) ownReady(ctx context.Context, f *FoundProject, box sandbox.Sandbox) (sandboxport.Settings, error) {
	state, err := s.manager.Project(ctx, *f)
	if err != nil {
		return sandboxport.Settings{}, err
	}
	p, known := state.Projects[f.URL.String()]
	now, there := p.Sandboxes[sandbox.SandboxKey(box.Name)]
	if !known || !there || now.Isolation != box.Isolation || now.Directory != box.Directory || !now.CreatedAt.Equal(box.CreatedAt) {
		return sandboxport.Settings{}, sandbox.ErrMoved.WithMessage("sandbox %s has changed since it was looked at; call again", box.Name)
	}
	f.Project, f.State = p, state
	settings, err := s.settingsOf(ctx, *f, box)
	if err == nil {
		err = installed(settings)
	}
	return settings, err
}

// own starts the sandbox's own server, where it does not run. It is called by who holds the project.
func (s service) own(ctx context.Context, sc tool.Scope, f FoundProject, box sandbox.Sandbox, ran bool) (ProjectStarted, error) {
	settings, err := s.ownReady(ctx, &f, box)
	switch {
	case err != nil:
		return ProjectStarted{}, err
	case f.Project.ServerOf(box.Name).Status == sandbox.Running:
		return s.alreadyRunning(ctx, f, box)
	case ran:
		return ProjectStarted{}, sandbox.ErrBusy.WithMessage("the server of sandbox %s ran when it was looked at and has ended since; call again to start it", box.Name)
	}
	return s.launched(ctx, sc, f, launch{settings: settings, box: box, ensure: true})
}

// inside returns how a server is started in a sandbox, isolated as the sandbox is. It finds no key there, and no settings of the user's.
func (d Deps) inside(spec process.Spec, f FoundProject, box sandbox.Sandbox) (process.Spec, error) {
	home, err := d.Isolator.Home(f.Layout.Repo, box.Directory)
	if err != nil {
		return spec, err
	}
	spec.Dir, spec.Log, spec.Env, spec.Labels = box.Directory, ownLog(f, box.Name), maps.Clone(spec.Env), maps.Clone(spec.Labels)
	maps.DeleteFunc(spec.Env, func(name, _ string) bool { return strings.HasPrefix(name, "XDG_") })
	maps.Copy(spec.Env, box.Leases)
	spec.Env["HOME"] = home
	spec.Labels["sandbox"] = box.Name
	spec.Argv, err = d.Isolator.Wrap(box.Isolation, f.Layout.Repo, box.Directory, spec.Env["PATH"], nil, spec.Argv)
	return spec, err
}

// ownLog is where what a sandbox's own server prints is kept.
func ownLog(f FoundProject, box string) string {
	return strings.TrimSuffix(f.Layout.ServerLog, "-opencode.log") + "-sandbox-" + box + "-opencode.log"
}
