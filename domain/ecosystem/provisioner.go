package ecosystem

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Kind is what a provisioner is.
type Kind string

// The kinds, in the order in which they are looked for: the manifest's own commands, a script, the two built-in ones.
const (
	KindInline Kind = "inline"
	KindScript Kind = "script"
	KindLocal  Kind = "local"
	KindNoop   Kind = "noop"
)

// Action is what a provisioner is asked to do.
type Action string

// The actions. Plan and Status are optional.
const (
	ActionDeploy  Action = "deploy"
	ActionDestroy Action = "destroy"
	ActionPlan    Action = "plan"
	ActionStatus  Action = "status"
)

// Script is a provisioner's script that may be run.
type Script struct {
	Path       string // absolute, links resolved
	Shown      string // as it was found, relative to the workspace root
	SHA256     string // hex
	Executable bool
}

// Provisioner brings environments up and takes them down.
type Provisioner struct {
	Name   string
	Kind   Kind
	Script Script // of Scripted
	Lines  Spin   // of Inline and Noop: shell lines
	SHA256 string // over the script or the lines; empty for Local
}

// byName is the provisioner that receives the ecosystem's name instead of its directory.
const byName = "k3d"

// noop returns the provisioner for demonstrations: it takes a second and leaves a mark.
func noop() Spin {
	return Spin{
		Deploy:  `sleep 1; : > "$AMOF_SPIN_DIR/deployed" && echo "::amof marker=$AMOF_SPIN_DIR/deployed"`,
		Destroy: `rm -f -- "$AMOF_SPIN_DIR/deployed"`,
		Status:  `if test -e "$AMOF_SPIN_DIR/deployed"; then echo deployed; else echo none; fi`,
		Plan:    `echo "would write $AMOF_SPIN_DIR/deployed"`,
	}
}

// FindProvisioner returns the provisioner that a manifest means (amof contract §20.5); script finds the script of a name or fails with ErrMissing. It fails with
// ErrNone, ErrMissing, and what script fails with.
func FindProvisioner(m Manifest, script func(name string) (Script, error)) (Provisioner, error) {
	if m.Spin.Inline() {
		return ofLines(string(KindInline), KindInline, m.Spin), nil
	}
	if m.Provisioner == "" {
		return Provisioner{}, ErrEnvironmentNone.WithMessage("the manifest of %s has no provisioner; add `provisioner: <name>` (local starts the `run:` command of each repository), or commands under `spin:`", m.Name)
	}
	return NamedProvisioner(m.Provisioner, script)
}

// NamedProvisioner returns the provisioner of that name, which is none of a manifest's own: a script, else a built-in one.
func NamedProvisioner(name string, script func(name string) (Script, error)) (Provisioner, error) {
	found, err := script(name)
	switch {
	case err == nil:
		return Provisioner{Name: name, Kind: KindScript, Script: found, SHA256: found.SHA256}, nil
	case !errors.Is(err, ErrMissing):
		return Provisioner{}, err
	case name == string(KindLocal):
		return Provisioner{Name: name, Kind: KindLocal}, nil
	case name == string(KindNoop):
		return ofLines(name, KindNoop, noop()), nil
	}
	return Provisioner{}, err
}

func ofLines(name string, kind Kind, lines Spin) Provisioner {
	doc, _ := json.Marshal([]string{lines.Deploy, lines.Destroy, lines.Status, lines.Plan}) // strings marshal
	sum := sha256.Sum256(doc)
	return Provisioner{Name: name, Kind: kind, Lines: lines, SHA256: hex.EncodeToString(sum[:])}
}

// Deployer returns the provisioner that deployed a state, as it is now: that is the one to destroy with, whatever the manifest says meanwhile.
func Deployer(s EnvironmentState, m Manifest, script func(name string) (Script, error)) (Provisioner, error) {
	switch s.Kind {
	case KindLocal:
		return Provisioner{Name: string(KindLocal), Kind: KindLocal}, nil
	case KindNoop:
		return ofLines(string(KindNoop), KindNoop, noop()), nil
	case KindScript:
		return NamedProvisioner(s.Provisioner, script)
	case KindInline:
		if m.Spin.Inline() {
			return ofLines(string(KindInline), KindInline, m.Spin), nil
		}
		return Provisioner{}, ErrEnvironmentNone.WithMessage("%s was deployed with commands of its manifest, which no longer has them; restore spin.destroy", m.Name)
	}
	return FindProvisioner(m, script)
}

// Built reports a provisioner that is part of Countersign.
func (p Provisioner) Built() bool { return p.Kind == KindLocal || p.Kind == KindNoop }

// Line returns the shell line of an action; empty if there is none.
func (p Provisioner) Line(a Action) string {
	switch a {
	case ActionDeploy:
		return p.Lines.Deploy
	case ActionDestroy:
		return p.Lines.Destroy
	case ActionPlan:
		return p.Lines.Plan
	case ActionStatus:
		return p.Lines.Status
	}
	return ""
}

// Command returns the program, with its arguments, that carries out an action on the ecosystem of that layout. It fails with ErrUnsupported.
func (p Provisioner) Command(a Action, l Layout, args []string) ([]string, error) {
	if p.Kind == KindScript {
		about := l.Dir
		if p.Name == byName {
			about = l.Name
		}
		argv := append([]string{p.Script.Path, string(a), about}, args...)
		if !p.Script.Executable {
			argv = append([]string{"bash"}, argv...)
		}
		return argv, nil
	}
	line := p.Line(a)
	if line == "" {
		return nil, ErrUnsupported.WithMessage("the provisioner %s of %s has no command for %s; add spin.%s to the manifest", p.Name, l.Name, a, a)
	}
	return append([]string{"sh", "-c", line, "sh"}, args...), nil
}

// Shown returns what the user reads to know what an action would run: the script, the whole shell line, or what the built-in provisioner does.
func (p Provisioner) Shown(a Action) string {
	switch p.Kind {
	case KindScript:
		return p.Script.Shown
	case KindLocal:
		return "built-in: local"
	}
	return p.Line(a)
}

// ProvisionerTimeout returns how long a provisioner may take.
func ProvisionerTimeout(m Manifest) time.Duration {
	const usual, most = 600, 3600
	seconds := m.Spin.TimeoutSeconds
	if seconds <= 0 {
		seconds = usual
	}
	return time.Duration(min(seconds, most)) * time.Second
}

// ProvisionerEnv returns the environment variables of a provisioner or a service.
func ProvisionerEnv(l Layout, about ActionContext) map[string]string {
	return map[string]string{
		"AMOF_ECOSYSTEM": l.Name, "AMOF_ECOSYSTEM_DIR": l.Dir, "AMOF_WORKSPACE_DIR": l.Workspace, "AMOF_REPOS_DIR": strings.TrimSuffix(l.Workspace, "/") + "/repos",
		"AMOF_TICKET": about.Ticket, "AMOF_ENVIRONMENT": about.Environment, "AMOF_RUN_ID": about.RunID, "AMOF_SPIN_DIR": about.Dir,
	}
}

// ActionContext is what one action is about.
type ActionContext struct{ Ticket, Environment, RunID, Dir string }
