package runs

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Deps is the ports of the ecosystem tools. Every field but Settle is required.
type Deps struct {
	Places    ecosystemport.Places
	Manifests ecosystemport.Manifests
	States    ecosystemport.States
	Runs      ecosystemport.Runs
	Workers   ecosystemport.Workers
	Sessions  ports.Sessions
	Owner     ports.ProcessIdentity
	Clock     ports.Clock
	UUIDs     ports.UUIDs
	// Settle recovers what a run of the ecosystem left whose process ended. Without it the next run does so.
	Settle func(ctx context.Context, l ecosystem.Layout) error
}

// Timeouts of calls. What takes longer is queued.
const (
	readTimeout   = time.Minute
	changeTimeout = 5 * time.Minute
)

// ReadSpec returns the spec of a tool that only reads, in every mode.
func ReadSpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassRead, Effects: policy.Read | policy.Network, Timeout: readTimeout, Input: json.RawMessage(schema)}
}

// SessionSpec returns the spec of a tool that changes only the session's selection.
func SessionSpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassScratch, Effects: policy.Read, Timeout: readTimeout, Input: json.RawMessage(schema)}
}

// SafeWriteSpec returns the spec of a tool that creates and never destroys: denied in ask, a dry run in plan, without approval in execute (amof contract §11),
// unless only users may approve.
func SafeWriteSpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassWrite, Effects: policy.Read | policy.Write | policy.Exec | policy.Network, Human: policy.Simple, AtOnce: true, Timeout: changeTimeout,
		Input: json.RawMessage(schema)}
}

// DangerousSpec returns the spec of a tool that may destroy work or contact remotes: explained in ask, a dry run in plan, and in execute with an approval of that
// strength (amof contract).
func DangerousSpec(strength policy.Strength, title, description, schema string) tool.Spec {
	s := SafeWriteSpec(title, description, schema)
	s.Class, s.Effects, s.Confirm, s.ReaskOnChange = policy.ClassDangerous, s.Effects|policy.Delete, strength, true
	return s
}

// EcosystemInput names the ecosystem; the default is the session's.
type EcosystemInput struct {
	Ecosystem string `json:"ecosystem,omitempty" jsonschema:"description=default the selected one"`
}

// Resources returns the ecosystem.
func (in EcosystemInput) Resources() []string {
	if in.Ecosystem == "" {
		return nil
	}
	return []string{in.Ecosystem}
}

// ModeInput is the mode of one call.
type ModeInput struct {
	Mode string `json:"mode,omitempty" jsonschema:"enum=ask,enum=plan,enum=execute,description=this call only"`
}

// CallMode is that mode, empty where the call says none.
func (in ModeInput) CallMode() string { return in.Mode }

// Target is the input of most tools that change something.
type Target struct {
	EcosystemInput
	ModeInput
}

// Focus is the selection of a session (amof contract §10).
type Focus struct {
	Scope     string   `json:"scope"` // global, ecosystem, run or release
	Ecosystem string   `json:"ecosystem,omitempty"`
	Run       string   `json:"run_id,omitempty"`
	Release   string   `json:"release_tag,omitempty"`
	Back      []string `json:"back,omitempty"` // ecosystems selected before, newest last; empty is none selected
}

// focusNote is the name under which a session remembers its focus.
const focusNote = "ecosystems"

// Focus returns the selection of a call's session, else the workspace's default.
func (d Deps) Focus(ctx context.Context, sc tool.Scope) (Focus, error) {
	f := Focus{Scope: "global"}
	s, err := d.Sessions.Load(ctx, ports.SessionKey(sc.Principal.ID, sc.Session))
	if err != nil {
		return f, err
	}
	if note := s.Notes[focusNote]; note != "" {
		err := json.Unmarshal([]byte(note), &f)
		return f, err
	}
	root, err := d.Places.Root(ctx)
	if err != nil {
		return f, nil //nolint:nilerr // whoever needs the root says so; nothing is selected in none
	}
	if f.Ecosystem, err = d.Places.Default(ctx, root); f.Ecosystem != "" {
		f.Scope = "ecosystem"
	}
	return f, err
}

// SetFocus sets the selection of the session.
func (d Deps) SetFocus(ctx context.Context, sc tool.Scope, f Focus) error {
	doc, err := tool.Encode(f)
	if err != nil {
		return err
	}
	return d.Sessions.Update(ctx, ports.SessionKey(sc.Principal.ID, sc.Session), func(s *ports.Session) error {
		s.Remember(focusNote, string(doc))
		return nil
	})
}

// Ecosystem is the current state of the ecosystem that a call is about.
type Ecosystem struct {
	Layout ecosystem.Layout
	Loaded ecosystemport.Loaded
	State  ecosystem.State
}

// Manifest returns what its manifest says.
func (f Ecosystem) Manifest() ecosystem.Manifest { return f.Loaded.Manifest.Manifest }

// Find returns the named ecosystem, else the session's, else the only one that there is. Its manifest may have errors. What a killed run left is recovered first. It fails with
// ecosystem.ErrNone and ecosystem.ErrUnknown.
func (d Deps) Find(ctx context.Context, sc tool.Scope, name string) (Ecosystem, error) {
	if name == "" {
		f, err := d.Focus(ctx, sc)
		if err != nil {
			return Ecosystem{}, err
		}
		name = f.Ecosystem
	}
	root, err := d.Places.Root(ctx)
	if err == nil && name == "" {
		name, err = d.Single(ctx, root)
	}
	if err != nil {
		return Ecosystem{}, err
	}
	f, err := d.FindAt(ctx, root, name)
	if err != nil || d.Settle == nil {
		return f, err
	}
	left, err := d.interrupted(ctx, f)
	if err != nil || !left {
		return f, err
	}
	if err := d.Settle(ctx, f.Layout); err != nil {
		return f, err
	}
	return d.FindAt(ctx, root, name)
}

// Single returns the only ecosystem of a workspace root, which need not be selected. It fails with ecosystem.ErrNone if there are none or several.
func (d Deps) Single(ctx context.Context, root string) (string, error) {
	names, err := d.Manifests.Names(ctx, root)
	if err == nil && len(names) != 1 {
		err = ecosystem.ErrNone
	}
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// interrupted reports a run of the ecosystem whose process is gone: what it left would stand in the way of whatever is planned now.
func (d Deps) interrupted(ctx context.Context, f Ecosystem) (bool, error) {
	running, err := d.Runs.List(ctx, ecosystem.RunFilter{Root: f.Layout.Root, Ecosystem: f.Layout.Name, Statuses: []ecosystem.RunStatus{ecosystem.RunRunning}})
	for _, r := range running {
		if d.Owner.Judge(r.Owner).Dead() {
			return true, nil
		}
	}
	return false, err
}

// FindAt returns the ecosystem with that name in that workspace root.
func (d Deps) FindAt(ctx context.Context, root, name string) (f Ecosystem, err error) {
	if f.Layout, err = d.Places.Layout(ctx, root, name); err != nil {
		return f, err
	}
	if f.Loaded, err = d.Manifests.Load(ctx, f.Layout); err != nil {
		return f, err
	}
	if dir := f.Manifest().WorkspaceDir; dir != "" {
		f.Layout.Workspace = path.Join(root, dir)
	}
	f.State, err = d.States.Load(ctx, f.Layout)
	return f, err
}

// FindValid is Find for tools that need a valid manifest; it also fails with ecosystem.ErrManifest.
func (d Deps) FindValid(ctx context.Context, sc tool.Scope, name string) (Ecosystem, error) {
	f, err := d.Find(ctx, sc, name)
	if err == nil {
		err = f.Sound()
	}
	return f, err
}

// Sound fails with ecosystem.ErrManifest for a manifest with errors.
func (f Ecosystem) Sound() error {
	r := f.Loaded.Manifest
	if r.Valid() {
		return nil
	}
	lines := make([]string, 0, len(r.Errors))
	for _, p := range r.Errors {
		lines = append(lines, p.Path+": "+p.Message)
	}
	return ecosystem.ErrManifest.WithMessage("the manifest of %s has errors (%d); the first: %s", f.Layout.Name, len(lines), lines[0]).
		WithDetails(map[string]any{"errors": r.Errors, "ecosystem": f.Layout.Name})
}

// FindInstalled is FindValid for tools that need an installed workspace; it also fails with ecosystem.ErrNotInstalled.
func (d Deps) FindInstalled(ctx context.Context, sc tool.Scope, name string) (Ecosystem, error) {
	f, err := d.FindValid(ctx, sc, name)
	if err == nil && !f.State.Installed() {
		err = ecosystem.ErrNotInstalled.WithMessage("ecosystem %s is not installed; amof_install_ecosystem installs it", f.Layout.Name)
	}
	return f, err
}

// Breadcrumb returns the place of a call: global > demo > run:1a2b3c4d.
func Breadcrumb(ecosystemName, runID, release string) string {
	parts := []string{"global"}
	if ecosystemName != "" {
		parts = append(parts, ecosystemName)
	}
	if runID != "" {
		parts = append(parts, "run:"+runID[:min(8, len(runID))])
	}
	if release != "" {
		parts = append(parts, "release:"+release)
	}
	return strings.Join(parts, " > ")
}

// Context is the envelope of an answer (amof contract §15).
type Context struct {
	Scope      string    `json:"scope"`
	Ecosystem  *string   `json:"ecosystem"`
	Breadcrumb string    `json:"breadcrumb"`
	RunID      *string   `json:"run_id"`
	SessionID  string    `json:"session_id"`
	Timestamp  time.Time `json:"timestamp"`
}

// AnswerText is an answer for users: a summary of at most 80 characters, verb first, and details of at most 15 lines (amof contract §15).
type AnswerText struct {
	Summary string   `json:"summary"`
	Details []string `json:"details,omitempty"`
}

// Envelope is the members that every result has besides its own. Presenters convert Text and Actions.
type Envelope struct {
	Context Context    `json:"_context"`
	Text    AnswerText `json:"_text"`
	Actions []Action   `json:"suggested_actions"` // as they may be: modes and bounds are the presenter's
}

// Show returns the envelope of a result about that ecosystem (empty: none) and that run (empty: none).
func (d Deps) Show(sc tool.Scope, about Subject, text AnswerText, actions ...Action) Envelope {
	c := Context{Scope: "global", Ecosystem: tool.NilIfZero(about.Ecosystem), Breadcrumb: Breadcrumb(about.Ecosystem, about.Run, about.Release), RunID: tool.NilIfZero(about.Run),
		SessionID: sc.Session, Timestamp: d.Clock.Now().UTC()}
	switch {
	case about.Release != "":
		c.Scope = "release"
	case about.Run != "":
		c.Scope = "run"
	case about.Ecosystem != "":
		c.Scope = "ecosystem"
	}
	if actions == nil {
		actions = []Action{}
	}
	return Envelope{Context: c, Text: text, Actions: actions}
}

// Subject is what an answer is about.
type Subject struct{ Ecosystem, Run, Release string }

// Action is a suggested call (amof contract §15).
type Action struct {
	ID           string         `json:"id"`
	Label        string         `json:"label"` // at most 30 characters
	Tool         string         `json:"tool"`
	Args         map[string]any `json:"args"`
	Scope        string         `json:"scope"` // global, ecosystem, run, release or server
	ModeRequired string         `json:"mode_required"`
	Safety       string         `json:"safety"`   // read-only, safe-write or dangerous-write
	Confirm      string         `json:"confirm"`  // none, simple, preview or type
	Priority     int            `json:"priority"` // 1 to 5, 1 first
	Description  string         `json:"description"`
	Condition    string         `json:"condition,omitempty"`
}
