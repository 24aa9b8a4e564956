package app

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/domain/visible"
)

// maxArgs is the maximum size of the arguments in one record, in bytes, so that no call can fill the audit log.
const maxArgs = 16 << 10

// Redaction redacts the data of one call and counts the secrets. It is not safe for concurrent use.
type Redaction struct {
	redact func() *redact.Redactor
	hits   int
}

// NewRedaction returns a Redaction over that redactor, which is loaded on first use.
func NewRedaction(redact func() *redact.Redactor) Redaction { return Redaction{redact: redact} }

// Hits returns the number of redacted secrets.
func (m *Redaction) Hits() int { return m.hits }

// Text returns the redacted text.
func (m *Redaction) Text(s string) string {
	if s == "" {
		return s
	}
	masked, n := m.redact().Text(s)
	m.hits += n
	return masked
}

// JSON redacts the strings of a document. A document that cannot be parsed is replaced.
func (m *Redaction) JSON(doc json.RawMessage) json.RawMessage {
	masked, n, err := m.redact().JSON(doc)
	if err != nil {
		return json.RawMessage(`{"error":"redaction_failed"}`)
	}
	m.hits += n
	return masked
}

// Quietly is JSON without counting.
func (m *Redaction) Quietly(doc json.RawMessage) json.RawMessage {
	before := m.hits
	defer func() { m.hits = before }()
	return m.JSON(doc)
}

// longestName is the maximum length of a tool name in records, in characters; all existing names are shorter.
const longestName = 64

// Name returns a tool name for records: a call of an unknown tool may contain anything as its name.
func (m *Redaction) Name(s string) string {
	masked, _ := m.redact().Text(s)
	return TruncateRunes(masked, longestName)
}

// Args returns a call's arguments for records: redacted without counting, cut if they are long, and replaced if they are not JSON.
func (m *Redaction) Args(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return nil
	}
	masked, _, err := m.redact().JSON(args)
	if err != nil || !json.Valid(masked) {
		return json.RawMessage(`{"redaction_failed":true}`)
	}
	if len(masked) > maxArgs {
		masked, _ = tool.Encode(map[string]any{"truncated": true, "bytes": len(masked), "head": TruncateBytes(string(masked), maxArgs)})
	}
	return masked
}

// Fault returns the error with message and details redacted, hidden characters made visible, and its cause removed.
func (m *Redaction) Fault(f *fault.Error) *fault.Error {
	out := &fault.Error{Kind: f.Kind, Code: f.Code, Message: visible.Lines(m.Text(strings.ToValidUTF8(f.Message, "\uFFFD")))}
	if f.Details == nil {
		return out
	}
	if doc, err := tool.Encode(f.Details); err == nil {
		out.Details = visible.JSON(m.JSON(doc))
	}
	return out
}

// TruncateRunes returns at most the first n characters of s.
func TruncateRunes(s string, n int) string {
	for at := range s {
		if n--; n < 0 {
			return s[:at]
		}
	}
	return s
}

// TruncateBytes returns at most n bytes of s, ending at the end of a rune.
func TruncateBytes(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:min(n, len(s))]
}
