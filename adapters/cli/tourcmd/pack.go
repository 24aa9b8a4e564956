package tourcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// lifetime of the pack, in minutes. The whole store is gone long before.
const lifetime = 60

// build makes the draft.
func (t *trip) build(ctx context.Context, chosen []anchor) error {
	title := "A first look at " + command.Plain(t.name())
	brief := "Where to start reading: the most used definitions, and the layout of the files."
	if err := t.change(ctx, "a draft that expires in one hour", args{"action": "create", "name": "tour", "title": title, "brief": brief,
		"tags": []string{"tour"}, "ttl_minutes": lifetime}); err != nil {
		return err
	}
	layout := fmt.Sprintf("%d files: %s.", len(t.files), either(t.languages(), "unknown language"))
	if err := t.change(ctx, "a section with a note", args{"action": "upsert_section", "section_key": "layout", "section_title": "Layout",
		"section_description": layout}); err != nil {
		return err
	}
	if err := t.change(ctx, "a Mermaid diagram of the directories", args{"action": "upsert_diagram", "section_key": "layout", "diagram_key": "layout",
		"title": "Directories", "mermaid": t.mermaid(chosen), "diagram_why": "Boxes count files; a dotted line connects a directory that mentions a definition to the one that contains it."}); err != nil {
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
		return ErrUneven.WithMessage("a finalized pack was changed, or could not be read").WithCause(err)
	}
	t.say("input delete_ref", "denied as expected: finalized packs cannot change", 0)
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
		return ErrUneven.WithMessage("the answer of input is not understood").WithCause(err)
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
	t.say(string(name)+" get", "the pack with the current code, on stdout", o.Elapsed)
	t.Note("")
	if t.JSON {
		return t.Show(o)
	}
	return t.Markdown(ctx, o.Text, false)
}
