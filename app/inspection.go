package app

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// PlanInspection is the result of examining everything that an approval request would show: its hidden characters and its redacted parts.
type PlanInspection struct {
	Plan, Exhibit json.RawMessage   // as they are shown; nil if there are none
	Hidden        []visible.Finding // what a reader would not see if it were not pointed out
	Masked        int               // number of redacted parts
	MustReveal    bool              // one of them contains shell syntax, or is in text that runs
	Err           error             // why there is no plan to show
	exhibit       error             // why there are no details
}

// InspectPlan examines a plan, what is shown beside it, its arguments and its own description. mask redacts a document.
func InspectPlan(ctx context.Context, plan tool.Plan, args json.RawMessage, mask func(json.RawMessage) json.RawMessage) (s PlanInspection) {
	if plan != nil {
		doc, err := tool.Encode(plan)
		if err != nil {
			return PlanInspection{Err: err}
		}
		s.Plan = s.take(doc, mask)
	}
	if e, ok := plan.(tool.Detailer); ok {
		what, err := e.Details(ctx)
		if err == nil && what != nil {
			var doc json.RawMessage
			if doc, err = tool.Encode(what); err == nil {
				s.Exhibit = s.take(doc, mask)
			}
		}
		s.exhibit = err
	}
	if len(args) > 0 {
		sent := PlanInspection{}
		sent.take(args, mask)
		s.add(s.news(sent.Hidden))
		s.Masked, s.MustReveal = s.Masked+sent.Masked, s.MustReveal || sent.MustReveal
	}
	if p, ok := plan.(tool.Prompter); ok {
		if doc, err := tool.Encode(p.Prompt()); err == nil {
			var asked PlanInspection // redacted parts of it are counted where they come from
			asked.take(doc, mask)
			s.add(s.news(asked.Hidden))
		}
	}
	return s
}

// Redacted returns how much is redacted.
func (s *PlanInspection) Redacted() confirm.Redacted {
	return confirm.Redacted{Masked: s.Masked, MustReveal: s.MustReveal}
}

// take examines one document and returns it as it is shown.
func (s *PlanInspection) take(doc json.RawMessage, mask func(json.RawMessage) json.RawMessage) json.RawMessage {
	masked := mask(doc)
	found := visible.ScanJSON(masked)
	if !bytes.Equal(masked, doc) {
		s.countRedacted(doc, masked)
		found = append(found, within(visible.ScanJSON(doc), found)...)
	}
	s.add(found)
	return visible.JSON(masked)
}

// within returns the findings of all that are not among shown: they are in redacted parts, and are reported without their text.
func within(all, shown []visible.Finding) (out []visible.Finding) {
	for _, f := range all {
		if !slices.ContainsFunc(shown, func(k visible.Finding) bool { return k.Where == f.Where && slices.Equal(k.What, f.What) }) {
			f.Text = "masked"
			out = append(out, f)
		}
	}
	return out
}

// news returns the findings with a new name: arguments, and a plan's description, mostly repeat the plan.
func (s *PlanInspection) news(found []visible.Finding) (out []visible.Finding) {
	known := map[string]bool{}
	for _, f := range s.Hidden {
		for _, what := range f.What {
			known[what] = true
		}
	}
	for _, f := range found {
		if slices.ContainsFunc(f.What, func(what string) bool { return !known[what] }) {
			out = append(out, f)
		}
	}
	return out
}

// add keeps the findings that are not known yet.
func (s *PlanInspection) add(found []visible.Finding) {
	for _, f := range found {
		if !slices.ContainsFunc(s.Hidden, func(k visible.Finding) bool { return k.Text == f.Text && slices.Equal(k.What, f.What) }) {
			s.Hidden = append(s.Hidden, f)
		}
	}
}

// Risk returns the risk that the findings raise the call to.
func (s *PlanInspection) Risk() policy.Risk {
	if len(s.Hidden) > 0 || s.MustReveal || s.Err != nil {
		return policy.RiskHigh
	}
	return policy.RiskNone
}

// RiskReason returns why the risk is high, to append to the request's description; empty if it is not.
func (s *PlanInspection) RiskReason() string {
	words := ""
	if len(s.Hidden) > 0 {
		words = "; it " + visible.FindingsReason(s.Hidden)
	}
	if s.MustReveal {
		words += "; redacted parts of it may be executed and must be revealed before you approve"
	}
	return words
}

// BoundedExhibit returns what is shown beside the plan; nil if it is too long or cannot be computed.
func (s *PlanInspection) BoundedExhibit(log *slog.Logger) json.RawMessage {
	if s.exhibit != nil {
		log.Warn("the details shown beside a plan could not be computed", "cause", s.exhibit.Error())
	}
	if len(s.Exhibit) > MaxExhibitBytes || string(s.Exhibit) == "null" {
		return nil
	}
	return s.Exhibit
}

// countRedacted counts the redacted parts of a document and judges each.
func (s *PlanInspection) countRedacted(doc, masked json.RawMessage) {
	before, bErr := values(doc)
	after, aErr := values(masked)
	if bErr != nil || aErr != nil {
		s.Masked, s.MustReveal = s.Masked+1, true
		return
	}
	s.compare(before, after, false)
}

func values(doc json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// compare judges what is redacted in a value; runs says that the value is in something that runs.
func (s *PlanInspection) compare(before, after any, runs bool) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok && len(a) == len(b) {
			file := path.Base(said(b, "path")) != "." && runsFile(said(b, "path"))
			for name, value := range b {
				s.compare(value, a[name], judged(name, runs, file))
			}
			return
		}
	case []any:
		if a, ok := after.([]any); ok && len(a) == len(b) {
			for i, value := range b {
				s.compare(value, a[i], runs)
			}
			return
		}
	case string:
		if a, ok := after.(string); ok {
			s.text(b, a, runs)
			return
		}
	default:
		if a, ok := after.(string); ok && strings.HasPrefix(a, placeholder) { // a number, or a literal
			s.Masked, s.MustReveal = s.Masked+1, s.MustReveal || runs
			return
		} else if before == after {
			return
		}
	}
	s.Masked, s.MustReveal = s.Masked+1, true // another shape: what is behind it is unknown
}

// placeholder is the start of a redaction marker (package redact).
const placeholder = "[REDACTED:"

// shell is the characters that have a meaning in shell syntax.
const shell = ";|&$()`<>\n\r\x00"

// text judges a text before and after redaction. A shell character that is missing after was in a redacted part.
func (s *PlanInspection) text(before, after string, runs bool) {
	if before == after {
		return
	}
	s.Masked += max(strings.Count(after, placeholder)-strings.Count(before, placeholder), 1)
	for _, c := range shell {
		if strings.Count(before, string(c)) > strings.Count(after, string(c)) {
			s.MustReveal = true
		}
	}
	s.MustReveal = s.MustReveal || runs || strings.HasPrefix(before, "#!") || strings.Contains(before, "\n+#!")
}

func said(object map[string]any, name string) string {
	text, _ := object[name].(string)
	return text
}

// judged reports whether the value under that name runs, given whether its parent does; file says that it belongs to a file that runs.
func judged(name string, runs, file bool) bool {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
	case "command", "commands", "commandline", "cmd", "argv", "args", "script", "scripts", "run", "runs", "shell", "exec", "executable", "hook", "hooks", "pre", "post", "setup", "start",
		"starts", "code", "entrypoint", "statusline", "steps":
		return true
	case "env", "environment", "envpassed", "headers", "query":
		return false
	case "unified", "diff", "content", "contents", "text", "before", "after", "lines", "body", "snippet":
		return runs || file
	}
	return runs
}

// runsFile reports whether the path is of a file that is read as code, or as configuration that names commands.
func runsFile(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains([]string{"hooks", "scripts", "bin", ".git", ".husky", "githooks"}, dir) {
			return true
		}
	}
	switch base := path.Base(name); path.Ext(base) {
	case ".md", ".mdx", ".mdc", ".markdown", ".txt", ".rst", ".adoc", ".html", ".css", ".svg", ".csv":
		return false
	case "":
		return !slices.Contains([]string{"license", "notice", "readme", "authors", "changelog"}, base)
	}
	return true
}
