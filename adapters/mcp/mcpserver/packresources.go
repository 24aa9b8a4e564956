package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PackToolset is the toolset whose tools this code calls.
const PackToolset = "packs"

const (
	prefix   = "countersign://packs/"
	template = prefix + "{id}"
	markdown = "text/markdown"

	promptName = "handoff"
	pageSize   = 100
	maxValues  = 100 // of one completion (MCP)

	// handoffTokens is the maximum size of the pack in the prompt; the rest is available through output.
	handoffTokens = 12_000
)

// The two tools that everything here uses.
const (
	input  tool.Name = "input"
	output tool.Name = "output"
)

// The errors of resources and prompts before any tool is called.
var (
	ErrURI    = fault.New(fault.NotFound, "resource_unknown", "a context pack's resource is countersign://packs/{id}")
	ErrCursor = fault.New(fault.Invalid, "resource_cursor_invalid", "the cursor does not belong to this list; start again without one")
	ErrPrompt = fault.New(fault.Invalid, "prompt_argument_missing", "the prompt handoff needs the argument pack: an id or a name")
)

// Packs is the core with context packs as resources. It implements Door, and provides Resources, Prompts and Completer.
type Packs struct {
	core Core
	as   string // the client of every call made here, in the audit log

	mu      sync.Mutex
	changed []func(uri string)
}

// NewPackResources wraps a core. Calls for resources run as their caller; as.Client is their client name in the audit log, or that of the caller if
// it is empty.
func NewPackResources(core Core, as tool.Call) *Packs { return &Packs{core: core, as: as.Client} }

// ServesPacks reports whether the core has enabled the two tools this needs; without them there is nothing to offer.
func ServesPacks(core Core) bool {
	found := 0
	for s := range core.Specs() {
		if s.Name == input || s.Name == output {
			found++
		}
	}
	return found == 2
}

// Specs yields the specs of the core.
func (p *Packs) Specs() iter.Seq[tool.Spec] { return p.core.Specs() }

// Call calls the core and reports a changed pack to Watch.
func (p *Packs) Call(ctx context.Context, c tool.Call) tool.Outcome {
	o := p.core.Call(ctx, c)
	if o.Spec.Name == input && o.Err == nil && !o.DryRun {
		p.tell(o.Value)
	}
	return o
}

func (p *Packs) tell(value json.RawMessage) {
	for _, read := range []string{`{"action":"get",`, `{"action":"list",`} { // the most frequent reads, recognised without decoding
		if bytes.HasPrefix(value, []byte(read)) {
			return
		}
	}
	p.mu.Lock()
	watchers := p.changed
	p.mu.Unlock()
	var done struct {
		Action  string              `json:"action"`
		Payload struct{ ID string } `json:"payload"`
	}
	if len(watchers) == 0 || json.Unmarshal(value, &done) != nil || done.Payload.ID == "" || done.Action == "get" || done.Action == "list" {
		return
	}
	for _, tell := range watchers {
		tell(prefix + done.Payload.ID)
	}
}

// Watch makes changed be called with the URI of each pack that a call through this core changed.
func (p *Packs) Watch(changed func(uri string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = append(slices.Clone(p.changed), changed)
}

// summary is the part of a list entry that is used here (context-pack contract §2).
type summary struct {
	ID, Name, Title, Status string
	Revision                int64
	Remaining               string `json:"ttl_remaining_human"`
}

func (s summary) label() string {
	for _, l := range []string{s.Title, s.Name} {
		if l != "" {
			return strings.Join(strings.Fields(l), " ")
		}
	}
	return "Untitled"
}

// call makes one call for the caller and returns the tool's outcome.
func (p *Packs) call(ctx context.Context, by Caller, name tool.Name, args map[string]any) (tool.Outcome, error) {
	doc, err := tool.Encode(args)
	if err != nil {
		return tool.Outcome{}, err
	}
	c := by.Call(name, doc)
	if p.as != "" {
		c.Client = p.as
	}
	o := p.core.Call(ctx, c)
	return o, o.Err
}

// list returns the packs of the caller: none if it does not have the tool that lists them.
func (p *Packs) list(ctx context.Context, by Caller, args map[string]any) ([]summary, error) {
	for s := range p.core.Specs() {
		if s.Name == input && !by.Serves(s) { // the call would be denied and appear in the audit log as an attempt
			return nil, nil
		}
	}
	args["action"] = "list"
	o, err := p.call(ctx, by, input, args)
	if errors.Is(err, tool.ErrUnknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Payload struct{ Packs []summary } `json:"payload"`
	}
	if err := json.Unmarshal(o.Value, &answer); err != nil {
		return nil, fault.ErrInternal.WithCause(err)
	}
	return answer.Payload.Packs, nil
}

// Resources returns the packs that have not expired, newest first, in pages.
func (p *Packs) Resources() Resources { return resources{p} }

type resources struct{ *Packs }

// List returns a page of packs. The cursor is the offset of the next page.
func (r resources) List(ctx context.Context, by Caller, cursor string) ([]Resource, string, error) {
	offset := 0
	if cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 {
			return nil, "", ErrCursor
		}
		offset = n
	}
	found, err := r.list(ctx, by, map[string]any{"limit": pageSize + 1, "offset": offset})
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(found) > pageSize {
		found, next = found[:pageSize], strconv.Itoa(offset+pageSize)
	}
	page := make([]Resource, 0, len(found))
	for _, s := range found {
		name := s.Name
		if name == "" {
			name = s.ID
		}
		page = append(page, Resource{URI: prefix + s.ID, Name: name, Title: s.label(), MIMEType: markdown, Tool: output,
			Description: fmt.Sprintf("Context pack, %s, revision %d, expires in %s", s.Status, s.Revision, s.Remaining)})
	}
	return page, next, nil
}

// Read returns the rendered pack.
func (r resources) Read(ctx context.Context, by Caller, uri string) (Content, error) {
	id, ok := strings.CutPrefix(uri, prefix)
	if !ok || id == "" || strings.ContainsAny(id, "/?#") {
		return Content{}, ErrURI
	}
	o, err := r.call(ctx, by, output, map[string]any{"action": "get", "id": id})
	return Content{MIMEType: markdown, Text: o.Text}, err
}

// Templates returns the one family of resources.
func (r resources) Templates() []Resource {
	return []Resource{{URI: template, Name: "context-pack", Title: "Context pack", MIMEType: markdown, Tool: output,
		Description: "A context pack rendered with real code excerpts, by id"}}
}

// Fixed are none: every pack is of the template.
func (r resources) Fixed() []Resource { return nil }

// Complete proposes IDs for the template, and names and IDs for the prompt, of packs whose ID or name starts with the value.
func (p *Packs) Complete(ctx context.Context, by Caller, c Completion) ([]string, bool, error) {
	byName := c.Ref == promptName && c.Argument == "pack"
	if !byName && (c.Ref != template || c.Argument != "id") {
		return nil, false, nil
	}
	found, err := p.list(ctx, by, map[string]any{})
	if err != nil {
		return nil, false, ctx.Err() // proposals are optional: a store that cannot be listed yields none
	}
	var values []string
	for _, s := range found {
		switch {
		case byName && s.Name != "" && strings.HasPrefix(s.Name, c.Value):
			values = append(values, s.Name)
		case strings.HasPrefix(s.ID, c.Value) || !byName && s.Name != "" && strings.HasPrefix(s.Name, c.Value):
			values = append(values, s.ID)
		}
	}
	if len(values) > maxValues {
		return values[:maxValues], true, nil
	}
	return values, false, nil
}

// Prompts returns the prompt handoff.
func (p *Packs) Prompts() Prompts { return prompts{p} }

type prompts struct{ *Packs }

// List returns the one prompt.
func (prompts) List() []Prompt {
	return []Prompt{{Name: promptName, Tool: output, Title: "Hand off a context pack", Description: "Start work from a context pack: its excerpts, and how to read more",
		Arguments: []Argument{
			{Name: "pack", Description: "id or name of the pack", Required: true},
			{Name: "task", Description: "what to do with the pack"},
		}}}
}

// Render returns the prompt's text: the task, the pack within a token limit, and how to read the rest.
func (r prompts) Render(ctx context.Context, by Caller, _ string, args map[string]string) (string, error) {
	id := strings.TrimSpace(args["pack"])
	if id == "" {
		return "", ErrPrompt
	}
	o, err := r.call(ctx, by, output, map[string]any{"action": "get", "id": id, "max_tokens": handoffTokens})
	if err != nil {
		return "", err
	}
	task := strings.TrimSpace(args["task"])
	if task == "" {
		task = "Continue the work this pack describes."
	}
	return fmt.Sprintf("%s\n\nWork from the context pack below. Its excerpts were read from the sources just now; where one is marked moved, "+
		"changed or missing, look at the file before you rely on it. Call the tool `output` with `id` %q for the whole pack.\n\n%s", task, id, o.Text), nil
}
