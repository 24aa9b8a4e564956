package ecosystems

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// backMost is how many ecosystems a session can go back over.
const backMost = 32

// ScopeAnswer is what a session works on, and how far it may go.
type ScopeAnswer struct {
	Scope     string  `json:"scope"`
	Ecosystem *string `json:"ecosystem"`
	RunID     *string `json:"run_id"`
	Release   *string `json:"release_tag"`
	Mode      string  `json:"mode"`
	MaxMode   string  `json:"max_mode"`
	Crumbs    string  `json:"breadcrumb"`
	CanGoBack bool    `json:"can_go_back"`
	Pending   *int    `json:"pending_confirmations"`      // null if they are not counted
	Problem   string  `json:"settings_problem,omitempty"` // why the settings cannot be read: then nothing may change
	runs.Envelope
}

func (s service) scopeInfo(ctx context.Context, sc tool.Scope, _ InfoNoInput) (ScopeAnswer, error) {
	f, err := s.Focus(ctx, sc)
	if err != nil {
		return ScopeAnswer{}, err
	}
	return s.scope(ctx, sc, f, "Showed the scope: ")
}

// scope returns the answer about a focus; did is what was done, before the breadcrumb.
func (s service) scope(ctx context.Context, sc tool.Scope, f runs.Focus, did string) (ScopeAnswer, error) {
	out := ScopeAnswer{Scope: f.Scope, Ecosystem: tool.NilIfZero(f.Ecosystem), RunID: tool.NilIfZero(f.Run), Release: tool.NilIfZero(f.Release),
		Crumbs: runs.Breadcrumb(f.Ecosystem, f.Run, f.Release), CanGoBack: f.Run != "" || f.Release != "" || len(f.Back) > 0}
	if err := s.gate(ctx, sc, &out); err != nil {
		return ScopeAnswer{}, err
	}
	actions := []runs.Action{runs.SuggestAction("list_ecosystems", "", nil)}
	if f.Ecosystem != "" {
		actions = []runs.Action{runs.SuggestAction("status", f.Ecosystem, nil), runs.SuggestAction("describe", f.Ecosystem, nil), actions[0]}
	}
	text := runs.AnswerText{Summary: clip(did + out.Crumbs), Details: []string{"mode " + out.Mode + " (at most " + out.MaxMode + ")"}}
	if _, err := s.Places.Settings(ctx); err != nil {
		out.Problem = fault.From(err).Message
		text.Details = append(text.Details, "the settings cannot be read, so nothing may change: "+out.Problem)
	}
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: f.Ecosystem, Run: f.Run, Release: f.Release}, text, actions...)
	return out, nil
}

// gate sets the session's mode and its maximum: from the core, else from the session and the settings.
func (s service) gate(ctx context.Context, sc tool.Scope, out *ScopeAnswer) error {
	if s.Gate != nil {
		g, err := s.Gate(ctx, sc)
		out.Mode, out.MaxMode, out.Pending = g.Mode, g.MaxMode, &g.Pending
		return err
	}
	session, err := s.Sessions.Load(ctx, ports.SessionKey(sc.Principal.ID, sc.Session))
	if err != nil {
		return err
	}
	settings, err := s.Places.Settings(ctx)
	if err != nil {
		return err
	}
	most := mode(settings.MaxMode, policy.Execute)
	now := session.Mode
	if now == policy.ModeUnset {
		now = mode(settings.DefaultMode, policy.Ask)
	}
	out.Mode, out.MaxMode = min(now, most).String(), most.String()
	return nil
}

// mode returns a mode of the settings, or the word for none.
func mode(word string, standard policy.Mode) policy.Mode {
	var m policy.Mode
	if m.UnmarshalText([]byte(word)) != nil || m == policy.ModeUnset {
		return standard
	}
	return m
}

// SwitchInput names an ecosystem, under either word.
type SwitchInput struct {
	Ecosystem string `json:"ecosystem,omitempty" jsonschema:"minLength=1,description=name of the ecosystem"`
	Name      string `json:"name,omitempty" jsonschema:"minLength=1,description=the same"`
}

// Resources returns the ecosystem.
func (in SwitchInput) Resources() []string { return []string{in.chosen()} }

// Validate wants one ecosystem.
func (in SwitchInput) Validate() error {
	if in.chosen() == "" || in.Ecosystem != "" && in.Name != "" && in.Ecosystem != in.Name {
		return ecosystem.ErrArguments.WithMessage("name one ecosystem, as ecosystem or as name")
	}
	return nil
}

func (in SwitchInput) chosen() string { return cmp.Or(in.Ecosystem, in.Name) }

// Switched says what the session works on now.
type Switched struct {
	Ecosystem string `json:"active_ecosystem"`
	Scope     string `json:"scope"`
	Crumbs    string `json:"breadcrumb"`
	runs.Envelope
}

func (s service) switchTo(ctx context.Context, sc tool.Scope, in SwitchInput) (Switched, error) {
	in.Ecosystem = in.chosen()
	if err := s.exists(ctx, in.Ecosystem); err != nil {
		return Switched{}, err
	}
	f, err := s.Focus(ctx, sc)
	if err != nil {
		return Switched{}, err
	}
	if err := s.SetFocus(ctx, sc, moved(f, in.Ecosystem)); err != nil {
		return Switched{}, err
	}
	out := Switched{Ecosystem: in.Ecosystem, Scope: "ecosystem", Crumbs: runs.Breadcrumb(in.Ecosystem, "", "")}
	out.Envelope = s.Show(sc, runs.Subject{Ecosystem: in.Ecosystem}, runs.AnswerText{Summary: clip("Switched to " + in.Ecosystem)},
		runs.SuggestAction("status", in.Ecosystem, nil), runs.SuggestAction("describe", in.Ecosystem, nil))
	return out, nil
}

// moved returns the focus on another ecosystem (empty: none), from where one can go back.
func moved(f runs.Focus, to string) runs.Focus {
	back := f.Back
	if f.Ecosystem != to {
		back = append(slices.Clone(back), f.Ecosystem)
		back = back[max(len(back)-backMost, 0):]
	}
	scope := "ecosystem"
	if to == "" {
		scope = "global"
	}
	return runs.Focus{Scope: scope, Ecosystem: to, Back: back}
}

// exists fails with ecosystem.ErrUnknown and the names there are.
func (s service) exists(ctx context.Context, name string) error {
	root, err := s.Places.Root(ctx)
	if err != nil {
		return err
	}
	names, err := s.Manifests.Names(ctx, root)
	if err != nil || slices.Contains(names, name) {
		return err
	}
	said := "there are none; amof_create_ecosystem makes one"
	if len(names) > 0 {
		said = "there are: " + strings.Join(names[:min(len(names), 20)], ", ")
	}
	return ecosystem.ErrUnknown.WithMessage("there is no ecosystem %q in %s; %s", clip(name), root, said).WithDetails(map[string]any{"available": names})
}

// back leaves the run or release, else goes to the ecosystem before, past those that are gone.
func (s service) back(ctx context.Context, sc tool.Scope, _ InfoNoInput) (ScopeAnswer, error) {
	f, err := s.Focus(ctx, sc)
	if err != nil {
		return ScopeAnswer{}, err
	}
	switch {
	case f.Run != "" || f.Release != "":
		f = moved(runs.Focus{Ecosystem: f.Ecosystem, Back: f.Back}, f.Ecosystem)
	case len(f.Back) == 0:
		return s.scope(ctx, sc, f, "Stayed, as nothing was selected before: ")
	default:
		f = s.before(ctx, f)
	}
	if err := s.SetFocus(ctx, sc, f); err != nil {
		return ScopeAnswer{}, err
	}
	return s.scope(ctx, sc, f, "Went back to ")
}

func (s service) before(ctx context.Context, f runs.Focus) runs.Focus {
	for len(f.Back) > 0 {
		last := len(f.Back) - 1
		to := f.Back[last]
		f.Back = f.Back[:last]
		if to == "" || s.exists(ctx, to) == nil {
			f.Ecosystem = to
			break
		}
	}
	return moved(runs.Focus{Ecosystem: f.Ecosystem, Back: f.Back}, f.Ecosystem)
}

func (s service) global(ctx context.Context, sc tool.Scope, _ InfoNoInput) (ScopeAnswer, error) {
	f, err := s.Focus(ctx, sc)
	if err != nil {
		return ScopeAnswer{}, err
	}
	f = moved(f, "")
	if err := s.SetFocus(ctx, sc, f); err != nil {
		return ScopeAnswer{}, err
	}
	return s.scope(ctx, sc, f, "Left for ")
}

// SelectInput names the ecosystem to select for all sessions.
type SelectInput struct {
	Ecosystem string `json:"ecosystem,omitempty" jsonschema:"description=name of the ecosystem; none unselects"`
}

// Resources returns the ecosystem.
func (in SelectInput) Resources() []string { return runs.EcosystemInput(in).Resources() }

// Selected says what is selected for all sessions.
type Selected struct {
	Status  string  `json:"status"`
	Default *string `json:"default_ecosystem"`
	Root    string  `json:"workspace_root"`
	runs.Envelope
}

// keep selects for all sessions of the workspace, those included that selected nothing themselves.
func (s service) keep(ctx context.Context, sc tool.Scope, in SelectInput) (Selected, error) {
	root, err := s.Places.Root(ctx)
	if err != nil {
		return Selected{}, err
	}
	if in.Ecosystem != "" {
		if err := s.exists(ctx, in.Ecosystem); err != nil {
			return Selected{}, err
		}
	}
	if err := s.Places.SetDefault(ctx, root, in.Ecosystem); err != nil {
		return Selected{}, err
	}
	text := runs.AnswerText{Summary: clip("Selected " + in.Ecosystem + " for " + root)}
	if in.Ecosystem == "" {
		text.Summary = clip("Unselected the ecosystem of " + root)
	}
	return Selected{Status: "success", Default: tool.NilIfZero(in.Ecosystem), Root: root, Envelope: s.Show(sc, runs.Subject{Ecosystem: in.Ecosystem}, text)}, nil
}

// summaryMost is how many characters a summary has (amof contract §15).
const summaryMost = 80

// clip keeps a summary within its bound.
func clip(s string) string {
	if r := []rune(s); len(r) > summaryMost {
		return string(r[:summaryMost-1]) + "…"
	}
	return s
}
