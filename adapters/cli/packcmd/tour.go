package packcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The ways there is nothing to show.
var (
	ErrNothing = fault.New(fault.NotFound, "tour_nothing_to_show", "there is nothing to show here")
	ErrUneven  = fault.New(fault.Internal, "tour_unexpected", "the tour did not go as it should")
)

// lifetime of the pack, in minutes. The whole store is gone long before.
const lifetime = 60

// TourCommand returns the command tour.
func TourCommand(s *command.Shell) *cobra.Command {
	return &cobra.Command{Use: "tour", Short: "Run a demo in the current repository without changing it", Args: command.Args(0, 0),
		Long: "Build a context pack out of the repository you stand in, in any language: anchors in real files, notes and a diagram; finalize it, and print it rendered.\n" +
			"It happens in a temporary store that is removed at the end; the repository is only read. The pack goes to stdout, what happens to stderr.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runTour(cmd.Context(), s) }}
}

func runTour(ctx context.Context, s *command.Shell) error {
	dir, err := os.Getwd()
	if err != nil {
		return ErrNothing.Sayf("the working directory cannot be told: %v", err)
	}
	found, err := look(ctx, dir)
	if err != nil {
		return ErrNothing.Sayf("%s cannot be read: %v", dir, err)
	}
	chosen := found.choose()
	if len(chosen) == 0 {
		chosen = found.plain()
	}
	if len(chosen) == 0 {
		return ErrNothing.Sayf("there is no source or text file in %s", found.root).With(command.Hint("run countersign tour inside a repository, in any language"))
	}
	temporary, err := os.MkdirTemp("", "countersign-tour-")
	if err != nil {
		return ErrNothing.Sayf("there is no place for a temporary store: %v", err)
	}
	defer os.RemoveAll(temporary)
	t := &trip{Shell: isolatedShell(s, temporary, found.root), survey: found, packs: filepath.Join(temporary, "packs")}
	defer t.Close() //nolint:errcheck // the store is removed
	return t.walk(ctx, chosen)
}

// isolatedShell returns a shell over the temporary store alone: what the user's environment says about stores and policy does not count here.
func isolatedShell(s *command.Shell, temporary, root string) *command.Shell {
	return &command.Shell{Terminal: s.Terminal, Open: s.Open, Client: s.Client, JSON: s.JSON, Env: func(name string) string {
		switch name {
		case "COUNTERSIGN_HOME":
			return filepath.Join(temporary, "home")
		case "CONTEXT_PACK_ROOT":
			return filepath.Join(temporary, "packs")
		case "CONTEXT_PACK_SOURCE_ROOT":
			return root
		case "COUNTERSIGN_LOG", "CONTEXT_PACK_LOG":
			return s.Lookup(name)
		case "COUNTERSIGN_APPROVAL":
			return "human"
		case "COUNTERSIGN_TOOLSETS":
			return "packs,upkeep"
		}
		return ""
	}}
}

// trip is one tour.
type trip struct {
	*command.Shell
	survey
	packs    string // the directory of the temporary store
	id       string
	revision uint64
	steps    int
}

func (t *trip) walk(ctx context.Context, chosen []anchor) error {
	t.Step("Countersign: a tour of %s", command.Plain(t.name()))
	what := fmt.Sprintf("%d files", len(t.files))
	if l := t.languages(); l != "" {
		what += ": " + l
	}
	t.Note("%s (%s)", command.Plain(t.root), what)
	t.Note("Every step is a call an agent could make, through the same door; the store is a temporary one.\n")
	if err := t.build(ctx, chosen); err != nil {
		return err
	}
	if err := t.finish(ctx, chosen); err != nil {
		return err
	}
	a, err := t.App()
	if err != nil {
		return err
	}
	if err := t.approval(ctx, a); err != nil {
		return err
	}
	if err := t.show(ctx); err != nil {
		return err
	}
	n, err := a.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	anchors := "1 anchor"
	if len(chosen) != 1 {
		anchors = fmt.Sprintf("%d anchors", len(chosen))
	}
	t.Step("\nDone: %s and a diagram, fixed in a finalized pack; the audit holds %d records in one unbroken chain.", anchors, n)
	t.Note("Let an agent do it:    countersign connect claude-code")
	t.Note("Do it yourself:        countersign pack new my-pack && countersign pack add FILE:12-40 --why \"…\"")
	return nil
}

// build makes the draft.
func (t *trip) build(ctx context.Context, chosen []anchor) error {
	title := "A first look at " + command.Plain(t.name())
	brief := "Where to start reading: the definitions the rest of the code leans on, and how the files are laid out."
	if err := t.change(ctx, "a draft that lives one hour", args{"action": "create", "name": "tour", "title": title, "brief": brief,
		"tags": []string{"tour"}, "ttl_minutes": lifetime}); err != nil {
		return err
	}
	layout := fmt.Sprintf("%d files: %s.", len(t.files), either(t.languages(), "no language that is known"))
	if err := t.change(ctx, "a section with a note", args{"action": "upsert_section", "section_key": "layout", "section_title": "How it is laid out",
		"section_description": layout}); err != nil {
		return err
	}
	if err := t.change(ctx, "a Mermaid diagram of the directories", args{"action": "upsert_diagram", "section_key": "layout", "diagram_key": "layout",
		"title": "Directories", "mermaid": t.mermaid(chosen), "diagram_why": "Boxes count files; a dotted line goes from a directory that mentions a definition to the one that has it."}); err != nil {
		return err
	}
	if err := t.change(ctx, "a section for code", args{"action": "upsert_section", "section_key": "code", "section_title": "Where to start reading"}); err != nil {
		return err
	}
	for i, a := range chosen {
		note := fmt.Sprintf("%s:%d-%d", command.Plain(a.path), a.def.First, a.last())
		if err := t.change(ctx, note, args{"action": "upsert_ref", "section_key": "code", "ref_key": fmt.Sprintf("anchor-%d", i+1), "path": a.path,
			"line_start": a.def.First, "line_end": a.last(), "ref_title": a.def.Name, "ref_why": a.why(), "group": either(a.group(), "root")}); err != nil {
			return err
		}
	}
	return nil
}

func (a anchor) group() string {
	dir, _, below := strings.Cut(a.path, "/")
	if !below {
		return ""
	}
	return dir
}

func either(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// finish finalizes the pack and shows that it holds: an edit is refused now.
func (t *trip) finish(ctx context.Context, chosen []anchor) error {
	if err := t.change(ctx, "finalized: every anchor was resolved against the files", args{"action": "set_status", "status": "finalized"}); err != nil {
		return err
	}
	_, err := t.call(ctx, args{"action": "delete_ref", "section_key": "code", "ref_key": "anchor-1", "id": t.id, "expected_revision": t.revision})
	if f := fault.From(err); f == nil || f.Kind != fault.State {
		return ErrUneven.Sayf("a finalized pack was changed, or could not be read").Because(err)
	}
	t.say("input delete_ref", "refused, as it should be: finalized packs do not change", 0)
	return nil
}

// approval shows what becomes of a call that the user has to approve: it asks and changes nothing, and the approved plan is what runs. Nobody sits in the
// temporary store, so the tour answers there itself, and says so.
func (t *trip) approval(ctx context.Context, a *app.App) error {
	const file = "pk_aaaaaaaa.md"
	dir := filepath.Join(t.packs, "packs")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, file), []byte("no pack\n"), 0o600)); err != nil {
		return ErrNothing.Sayf("there is no place for a temporary store: %v", err)
	}
	door, err := t.Opened()
	if err != nil {
		return err
	}
	c := tool.Call{Tool: "quarantine_pack_file", Session: command.Session, Client: t.Client, Principal: door.Principal, Args: json.RawMessage(`{"file":"` + file + `"}`)}
	o := a.Call(ctx, c)
	if o.Issued == nil || !o.Issued.Pending {
		t.say(string(c.Tool), "would ask a person first, and the policy of this machine does not let it come to that", 0)
		return nil
	}
	t.say(string(c.Tool), "asks a person first, and has changed nothing: "+command.Plain(strings.TrimSuffix(o.Issued.Prompt, ".")), 0)
	c.Answer = &confirm.Answer{ID: o.Issued.ID, Approve: true, Shown: o.Issued.PlanHash, By: "the tour",
		Proof: confirm.Proof{Surface: confirm.SurfaceTerminal, User: "the tour", TTY: "none", Host: "none"}}
	c.Person = true
	if o = a.Call(ctx, c); o.Err != nil {
		t.say("approve", "the policy of this machine takes no such answer: "+command.Plain(fault.From(o.Err).Message), 0)
		return nil
	}
	t.say("approve", "by the tour itself, in its temporary store alone; exactly that plan has run. In your own home you decide: countersign approvals, or the console", 0)
	return nil
}

// args of one call.
type args map[string]any

// change is one call of input, told in a line.
func (t *trip) change(ctx context.Context, note string, a args) error {
	if t.id != "" {
		a["id"], a["expected_revision"] = t.id, t.revision
	}
	o, err := t.call(ctx, a)
	if err != nil {
		return err
	}
	var answer struct {
		Payload struct {
			ID       string `json:"id"`
			Revision uint64 `json:"revision"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(o.Value, &answer); err != nil || answer.Payload.ID == "" {
		return ErrUneven.Sayf("the answer of input is not understood").Because(err)
	}
	t.id, t.revision = answer.Payload.ID, answer.Payload.Revision
	t.say(fmt.Sprintf("input %s", a["action"]), note, o.Elapsed)
	return nil
}

func (t *trip) call(ctx context.Context, a args) (tool.Outcome, error) {
	return t.Call(ctx, "input", a)
}

// say tells of one step.
func (t *trip) say(call, note string, took time.Duration) {
	t.steps++
	after := ""
	if took > 0 {
		after = fmt.Sprintf("  (revision %d, %s)", t.revision, took.Round(10*time.Microsecond))
	}
	t.Note("%2d. %-22s %s%s", t.steps, call, note, after)
}

// show prints the pack: rendered, or its content with --json.
func (t *trip) show(ctx context.Context) error {
	name, a := tool.Name("output"), args{"id": t.id}
	if t.JSON {
		name, a = "input", args{"action": "get", "id": t.id}
	}
	o, err := t.Call(ctx, name, a)
	if err != nil {
		return err
	}
	t.say(string(name)+" get", "the pack, with the code as it is now, on stdout", o.Elapsed)
	t.Note("")
	if t.JSON {
		return t.Show(o)
	}
	return t.Markdown(ctx, o.Text, false)
}
