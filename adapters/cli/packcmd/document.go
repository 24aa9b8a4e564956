package packcmd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// document is a whole pack as the action write takes it.
type document struct {
	Name       string            `json:"name,omitempty"`
	Title      string            `json:"title,omitempty"`
	Brief      string            `json:"brief,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	TTLMinutes *int64            `json:"ttl_minutes,omitempty"`
	Sections   []documentSection `json:"sections,omitempty"`
}

type documentSection struct {
	Key         string            `json:"key"`
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	Refs        []documentRef     `json:"refs,omitempty"`
	Diagrams    []documentDiagram `json:"diagrams,omitempty"`
}

type documentRef struct {
	Key       string `json:"key"`
	Path      string `json:"path"`
	LineStart int    `json:"line_start"`
	LineEnd   int    `json:"line_end"`
	Title     string `json:"title,omitempty"`
	Why       string `json:"why,omitempty"`
	Group     string `json:"group,omitempty"`
	Root      string `json:"root,omitempty"`
	Commit    string `json:"commit,omitempty"`
}

type documentDiagram struct {
	Key     string `json:"key"`
	Title   string `json:"title"`
	Mermaid string `json:"mermaid"`
	Why     string `json:"why,omitempty"`
}

// document returns a pack as it would be written again.
func (p stored) document() document {
	d := document{Title: p.Title, Brief: p.Brief, Tags: p.Tags}
	for _, s := range p.Sections {
		sec := documentSection{Key: s.Key, Title: s.Title, Description: s.Description}
		for _, r := range s.Refs {
			sec.Refs = append(sec.Refs, documentRef{Key: r.Key, Path: r.Path, LineStart: r.Lines.Start, LineEnd: r.Lines.End, Title: r.Title, Why: r.Why, Group: r.Group, Root: r.Root, Commit: r.Commit})
		}
		for _, m := range s.Diagrams {
			sec.Diagrams = append(sec.Diagrams, documentDiagram{m.Key, m.Title, m.Mermaid, m.Why})
		}
		d.Sections = append(d.Sections, sec)
	}
	return d
}

// section returns the document's section of that key, made where it is not there.
func (d *document) section(key, title string) *documentSection {
	for i := range d.Sections {
		if d.Sections[i].Key == key {
			return &d.Sections[i]
		}
	}
	d.Sections = append(d.Sections, documentSection{Key: key, Title: title})
	return &d.Sections[len(d.Sections)-1]
}

// addAll puts anchors into a section of a pack, all in one change. Where one has no key, it gets one from its file and line.
func (g group) addAll(ctx context.Context, where place, refs []documentRef) error {
	ident, err := g.resolve(ctx, where.pack, "draft")
	if err != nil {
		return err
	}
	done := "anchored 1 range in"
	if len(refs) > 1 {
		done = fmt.Sprintf("anchored %d ranges in", len(refs))
	}
	return g.change(ctx, ident, done, func(p stored) (command.Arguments, error) {
		d := p.document()
		s := d.section(where.section, where.heading())
		taken := make([]keyed, 0, len(s.Refs)+len(refs))
		for _, r := range s.Refs {
			taken = append(taken, keyed{Key: r.Key})
		}
		for _, r := range refs {
			r.Key = freeKey(r.Path, r.LineStart, taken)
			taken = append(taken, keyed{Key: r.Key})
			s.Refs = append(s.Refs, r)
		}
		return command.Arguments{"action": "write", "document": d}, nil
	})
}

func (g group) imported() *cobra.Command {
	var where place
	var name, ttl string
	c := &cobra.Command{Use: "import FILE", Short: "Create a pack from a document, or add anchors from a list of FILE:LINE; - reads stdin", Args: command.Args(1, 1),
		Long: "Create a pack from a JSON document, as written by pack export --json or accepted by the action write of the tool input. " +
			"Any other file is a list: each line begins with FILE:12 or FILE:12-40, as printed by grep -n, linters and compilers; the rest of the line becomes the reason. " +
			"The anchors are added to a draft, all in one change.",
		Example: "  countersign pack export login-bug --json -o login-bug.json\n  countersign pack import login-bug.json --name login-bug-2\n  grep -n Verify *.go | countersign pack import - --section calls"}
	where.flags(c, g, "code")
	c.Flags().StringVar(&name, "name", "", "name of the created pack (default: the document's)")
	c.Flags().StringVar(&ttl, "ttl", defaultTTL, "time until the created pack expires: 90m, 24h, 7d")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := g.read(args[0])
		if err != nil {
			return err
		}
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			if cmd.Flags().Changed("pack") || cmd.Flags().Changed("section") {
				return command.Usage(cmd, "a document creates a pack; --pack and --section are for lists")
			}
			return g.importDocument(cmd, text, name, ttl)
		}
		refs, err := g.listed(text)
		if err != nil {
			return err
		}
		return g.addAll(cmd.Context(), where, refs)
	}
	return c
}

// importDocument makes a new pack. What pack export wrote is turned into a document; anything else is the tool's to judge.
func (g group) importDocument(cmd *cobra.Command, text, name, ttl string) error {
	minutes, err := minutes("--ttl", ttl)
	if err != nil {
		return err
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return command.ErrUsage.WithMessage("the document is not JSON: %v", err)
	}
	if payload, ok := doc["payload"]; ok {
		doc = nil
		if err := json.Unmarshal(payload, &doc); err != nil || doc == nil {
			return command.ErrUsage.WithMessage("the document's payload is not a pack")
		}
		text = string(payload)
	}
	if _, exported := doc["schema_version"]; exported {
		var p stored
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return command.ErrUsage.WithMessage("the document is not a pack written by pack export: %v", err)
		}
		d := p.document()
		d.Name = p.Name
		raw, err := json.Marshal(d)
		if err == nil {
			doc = nil
			err = json.Unmarshal(raw, &doc)
		}
		if err != nil {
			return err
		}
	}
	if name != "" {
		doc["name"], _ = json.Marshal(name)
	}
	if _, said := doc["ttl_minutes"]; !said || cmd.Flags().Changed("ttl") {
		doc["ttl_minutes"] = strconv.AppendInt(nil, minutes, 10)
	}
	var p stored
	o, err := g.payload(cmd.Context(), command.Arguments{"action": "write", "document": doc}, &p)
	switch {
	case err != nil:
		return err
	case g.JSON:
		return g.Show(o)
	}
	g.Line("%s", p.ID)
	g.Note("a %s until %s", p.Status, moment(p.ExpiresAt))
	return nil
}

// listForm is a line of a list: the file, first and last line, a column that is not used, and the reason.
const listForm = `^\s*(.+?):(\d+)(?:-(\d+))?(?::\d+)?(?:[:\s]\s*(.*))?$`

// maxReason is how much of a listed line becomes the reason, in bytes.
const maxReason = 200

// listed reads a list of FILE:LINE. A line that is none is refused with its number; empty ones and those that begin with # are passed over.
func (g group) listed(text string) ([]documentRef, error) {
	form := regexp.MustCompile(listForm)
	var refs []documentRef
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, maxText)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := form.FindStringSubmatch(line)
		if m == nil {
			return nil, command.ErrUsage.WithMessage("line %d of the list has no file and line: %q", n, clipped(line)).WithDetails(command.Hint("use FILE:12 or FILE:12-40, followed by the reason; grep needs -n and -H"))
		}
		arg := m[1] + ":" + m[2]
		if m[3] != "" {
			arg += "-" + m[3]
		}
		file, lines, err := g.target(arg, "")
		if err != nil {
			return nil, err
		}
		if refs = append(refs, documentRef{Path: file, LineStart: lines[0], LineEnd: lines[1], Why: clipped(strings.TrimSpace(m[4]))}); len(refs) > maxTargets {
			return nil, command.ErrUsage.WithMessage("the list has more than %d lines; import it in parts", maxTargets)
		}
	}
	if err := in.Err(); err != nil {
		return nil, command.ErrUsage.WithMessage("cannot read the list: %v", err)
	}
	if len(refs) == 0 {
		return nil, command.ErrUsage.WithMessage("the list is empty")
	}
	return refs, nil
}

func clipped(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "") + "…"
}

func (g group) edits() *cobra.Command {
	var title, brief string
	var tags, clear []string
	c := &cobra.Command{Use: "edit [PACK]", Short: "Change a draft's title, brief and tags", Args: command.Args(0, 1), ValidArgsFunction: g.completePacks("draft"),
		Example: "  countersign pack edit login-bug --title \"Why refresh fails\" --tag auth --tag urgent\n  countersign pack edit login-bug --clear tags"}
	c.Flags().StringVar(&title, "title", "", "new title")
	c.Flags().StringVar(&brief, "brief", "", "new brief")
	c.Flags().StringArrayVar(&tags, "tag", nil, "tag (repeatable); the tags replace the old ones")
	c.Flags().StringSliceVar(&clear, "clear", nil, "field to clear: title, brief or tags")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		call := command.Arguments{"action": "set_meta"}.Set("title", title).Set("brief", brief)
		if len(tags) > 0 {
			call["tags"] = tags
		}
		if len(clear) > 0 {
			call["clear"] = clear
		}
		if len(call) == 1 {
			return command.Usage(cmd, "give at least one of --title, --brief, --tag and --clear")
		}
		ident, err := g.resolve(cmd.Context(), command.First(args), "draft")
		if err != nil {
			return err
		}
		return g.change(cmd.Context(), ident, "edited", func(stored) (command.Arguments, error) { return call, nil })
	}
	return c
}

// withoutAll returns the call that takes anchors, diagrams and sections out, by their keys: SECTION::KEY, KEY where only one has it, SECTION:: for a whole section.
func (p stored) withoutAll(keys []string) (command.Arguments, error) {
	if len(keys) == 1 {
		return p.without(keys[0])
	}
	d := p.document()
	for _, key := range keys {
		gone, err := p.without(key)
		if err != nil {
			return nil, err
		}
		for i := len(d.Sections) - 1; i >= 0; i-- {
			s := &d.Sections[i]
			if s.Key != gone["section_key"] {
				continue
			}
			switch gone["action"] {
			case "delete_section":
				d.Sections = append(d.Sections[:i], d.Sections[i+1:]...)
			case "delete_ref":
				s.Refs = dropped(s.Refs, func(r documentRef) bool { return r.Key == gone["ref_key"] })
			default:
				s.Diagrams = dropped(s.Diagrams, func(m documentDiagram) bool { return m.Key == gone["diagram_key"] })
			}
		}
	}
	return command.Arguments{"action": "write", "document": d}, nil
}

func dropped[T any](list []T, gone func(T) bool) []T {
	var kept []T
	for _, item := range list {
		if !gone(item) {
			kept = append(kept, item)
		}
	}
	return kept
}
