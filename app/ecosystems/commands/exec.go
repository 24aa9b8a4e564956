package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Deps is what the tool works with. Every field is required.
type Deps struct {
	runs.Deps
	Surveyor  ecosystemport.Surveyor
	Git       ecosystemport.ReleaseGit // shows what was committed since
	Processes ports.Processes
	Code      ports.CodeReader
	Inherited func() []string // the environment of this process
}

// Exec is the typed handle.
var Exec = tool.Ref[ExecInput, runs.QueuedRun]{Name: "ecosystem_exec"}

// Action is that of the runs.
const Action = "exec"

// The bounds of a call.
const (
	defaultParallel = 4
	maxParallel     = 16
	defaultTimeout  = 600 // seconds
	maxTimeout      = 3600
	maxArgs         = 128
	maxArg          = 32 << 10
)

type service struct{ Deps }

// Entries returns the tool.
func Entries(d Deps) []tool.Entry {
	s := service{d}
	spec := runs.DangerousSpec(policy.Simple, "Run in repositories", "Run one program in several repositories of an ecosystem, as a run with their output and exit codes.", execSchema)
	return []tool.Entry{bind.Command(Exec, spec, s.plan, s.Enqueue)}
}

// Performers carry out the runs.
func Performers(d Deps) []runs.Performer {
	s := service{d}
	return []runs.Performer{{Action: Action, Limit: maxTimeout + 60, Facts: s.facts, Do: s.do, Recover: s.recoverRun}}
}

// ExecInput is a program and where to run it.
type ExecInput struct {
	runs.Target
	Command  []string `json:"command,omitempty" jsonschema:"minItems=1,description=argv; no shell is added"`
	Saved    string   `json:"saved,omitempty" jsonschema:"description=a command of the manifest"`
	Repos    []string `json:"repos,omitempty"`
	Dirty    bool     `json:"dirty,omitempty"`
	Changed  string   `json:"changed,omitempty" jsonschema:"description=only those changed since this ref"`
	Parallel int      `json:"parallel,omitempty" jsonschema:"minimum=1"`
	Timeout  int      `json:"timeout_seconds,omitempty" jsonschema:"minimum=1"`
}

// Validate fails with ecosystem.ErrArguments.
func (in ExecInput) Validate() error {
	switch {
	case in.Saved != "" && len(in.Command) > 0:
		return ecosystem.ErrArguments.WithMessage("command and saved both say what to run; leave one of them out")
	case in.Saved == "" && (len(in.Command) == 0 || in.Command[0] == ""):
		return ecosystem.ErrArguments.WithMessage("command names no program")
	case len(in.Command) > maxArgs:
		return ecosystem.ErrArguments.WithMessage("command has %d entries; at most %d are handed on", len(in.Command), maxArgs)
	case in.Parallel > maxParallel || in.Timeout > maxTimeout:
		return ecosystem.ErrArguments.WithMessage("parallel is at most %d, and timeout_seconds at most %d", maxParallel, maxTimeout)
	case strings.HasPrefix(in.Changed, "-") || strings.ContainsFunc(in.Changed, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(":^?*[\\", r)
	}) || strings.Contains(in.Changed, ".."):
		return ecosystem.ErrArguments.WithMessage("changed %q is no ref; name a branch, a tag or a commit", in.Changed)
	}
	for i, arg := range in.Command {
		if len(arg) > maxArg || strings.ContainsRune(arg, 0) {
			return ecosystem.ErrArguments.WithMessage("command[%d] contains NUL or has more than %d bytes", i, maxArg)
		}
	}
	return nil
}

// Place is a checkout in which the program runs.
type Place struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"`
	Ticket string `json:"ticket,omitempty"`
	Branch string `json:"branch"`
	Head   string `json:"head"`
}

// Skipped is a repository in which it does not.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Preview is what would run where.
type Preview struct {
	Command        []string  `json:"command"`
	Text           string    `json:"text"`            // the command as shell text
	Saved          string    `json:"saved,omitempty"` // its name in the manifest
	Parallel       int       `json:"parallel"`
	TimeoutSeconds int       `json:"timeout_seconds"`
	Repos          []Place   `json:"repos"`
	Skipped        []Skipped `json:"skipped"`
	process.Code             // the files that are read as code, and what is not bound
}

// payload is what a run is given.
type payload struct {
	Command  []string `json:"command"`
	Repos    []string `json:"repos"`
	Parallel int      `json:"parallel"`
	Timeout  int      `json:"timeout_seconds"`
}

func (s service) plan(ctx context.Context, sc tool.Scope, in ExecInput) (runs.Plan, error) {
	f, err := s.FindInstalled(ctx, sc, in.Ecosystem)
	if err != nil {
		return runs.Plan{}, err
	}
	if in.Saved != "" {
		if in.Command, err = f.Manifest().Command(in.Saved); err != nil {
			return runs.Plan{}, err
		}
	}
	places, skipped, err := s.choose(ctx, f, in)
	if err != nil {
		return runs.Plan{}, err
	}
	if len(places) == 0 {
		why := "none has what was asked for"
		if len(skipped) > 0 {
			why = skipped[0].Name + ": " + skipped[0].Reason
		}
		return runs.Plan{}, ecosystem.ErrNoWork.WithMessage("there is no repository of %s to run %s in; %s", f.Layout.Name, in.Command[0], why).WithDetails(map[string]any{"skipped": skipped})
	}
	pv := Preview{Command: in.Command, Text: quoted(in.Command), Saved: in.Saved, Parallel: in.Parallel, TimeoutSeconds: in.Timeout, Repos: places, Skipped: skipped}
	if pv.Parallel == 0 {
		pv.Parallel = defaultParallel
	}
	if pv.TimeoutSeconds == 0 {
		pv.TimeoutSeconds = defaultTimeout
	}
	if pv.Code, err = s.reads(ctx, f, in.Command, places); err != nil {
		return runs.Plan{}, err
	}
	names := []string{}
	for _, p := range places {
		names = append(names, p.Name)
	}
	doc, err := tool.Encode(payload{Command: in.Command, Repos: names, Parallel: pv.Parallel, Timeout: pv.TimeoutSeconds})
	if err != nil {
		return runs.Plan{}, err
	}
	p := runs.Plan{Tool: Exec.Name, Action: Action, Summary: fmt.Sprintf("run of %s in %s of %s", clip(pv.Text), counted(len(places)), f.Layout.Name), Preview: pv, Facts: factsOf(in.Command, places, pv.Code), Payload: doc,
		Explanation: runs.Explanation{What: "Runs " + pv.Text + " in " + strings.Join(names, ", ") + ". What the program does is not bound.", Irreversible: true, Affects: names, Alternatives: []string{}},
		Current:     map[string]any{"active_ticket": f.State.ActiveTicket}, Risk: runs.Risk{Level: "moderate", Irreversible: true, Reasons: []string{"runs a program"}}}
	return p.Sealed(f)
}

// facts implements runs.Performer.
func (s service) facts(ctx context.Context, f runs.Ecosystem, doc json.RawMessage) (any, error) {
	var in payload
	if err := json.Unmarshal(doc, &in); err != nil {
		return nil, err
	}
	places, _, err := s.choose(ctx, f, ExecInput{Repos: in.Repos})
	if err != nil {
		return nil, err
	}
	code, err := s.reads(ctx, f, in.Command, places)
	return factsOf(in.Command, places, code), err
}

func factsOf(command []string, places []Place, code process.Code) any {
	return map[string]any{"command": command, "repos": places, "code": code}
}

// choose returns the checkouts of the repositories that are asked for, in the order of the manifest.
func (s service) choose(ctx context.Context, f runs.Ecosystem, in ExecInput) (places []Place, skipped []Skipped, err error) {
	repos, err := f.Manifest().Choose(in.Repos)
	if err != nil {
		return nil, nil, err
	}
	skipped = []Skipped{}
	active := f.State.Active()
	var checkouts []ecosystem.Checkout
	for _, r := range repos {
		p := Place{Name: r.Name, Dir: path.Join(f.State.WorkspaceDir, r.Path)}
		if t := f.State.Tickets[active]; active != "" && t.Repos[r.Name] != "" {
			p.Dir, p.Ticket = path.Join(t.WorktreeBase, r.Name), active
		}
		places = append(places, p)
		checkouts = append(checkouts, ecosystem.Checkout{Name: r.Name, Dir: p.Dir})
	}
	found := s.Surveyor.Survey(ctx, checkouts)
	if err := ctx.Err(); err != nil {
		return nil, nil, fault.From(err)
	}
	since := make([]ecosystemport.History, len(places))
	if in.Changed != "" {
		spans := make([]ecosystemport.CommitRange, len(places))
		for i, p := range places {
			spans[i] = ecosystemport.CommitRange{Dir: p.Dir, From: in.Changed, Head: found[i].Head}
		}
		since = s.Git.Since(ctx, spans, 1)
	}
	var chosen []Place
	var untold []string
	for i, p := range places {
		p.Branch, p.Head = found[i].Branch, found[i].Head
		reason := ""
		switch st := found[i]; {
		case st.Missing:
			reason = "it is not there; amof_sync_ecosystem clones it"
		case st.Problem != "" && !st.Readable():
			reason = st.Problem
		case in.Changed != "" && since[i].Err != nil:
			untold = append(untold, p.Name+" ("+fault.From(since[i].Err).Message+")")
			continue
		case in.Changed != "" && since[i].Total == 0 && st.Dirty == 0:
			reason = "nothing changed since " + in.Changed
		case in.Dirty && st.Dirty == 0:
			reason = "everything is committed"
		}
		if reason != "" {
			skipped = append(skipped, Skipped{p.Name, reason})
			continue
		}
		chosen = append(chosen, p)
	}
	if len(untold) > 0 {
		return nil, nil, ecosystem.ErrArguments.WithMessage("what changed since %s cannot be told of %s: %s; name a ref that every repository has, or the others as repos", in.Changed, counted(len(untold)), strings.Join(untold, "; "))
	}
	return chosen, skipped, nil
}

// reads returns the files that the program reads as code.
func (s service) reads(ctx context.Context, f runs.Ecosystem, command []string, places []Place) (process.Code, error) {
	var all []process.ShellCommand
	for _, p := range places {
		all = append(all, process.ShellCommand{Dir: p.Dir, Text: quoted(command)})
	}
	return s.Code.Code(ctx, f.Layout.Root, all)
}

// quoted returns a command as shell text.
func quoted(argv []string) string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = arg
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !slices.Contains([]rune("-_./=:,@%+"), r)
		}) {
			out[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// clip keeps a command at a length that fits a line; the preview has all of it.
func clip(text string) string {
	const most = 60
	text = strings.ReplaceAll(text, "\n", " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func counted(n int) string {
	if n == 1 {
		return "1 repository"
	}
	return fmt.Sprintf("%d repositories", n)
}
