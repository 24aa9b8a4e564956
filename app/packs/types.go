package packs

import (
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/domain/pack"
)

// InputArgs is the arguments of the tool input (context-pack contract §2 and §6.5). Each action decides which fields it needs.
type InputArgs struct {
	Action             string         `json:"action,omitempty" jsonschema:"enum=list,enum=create,enum=get,enum=upsert_section,enum=delete_section,enum=upsert_ref,enum=delete_ref,enum=upsert_diagram,enum=delete_diagram,enum=set_meta,enum=set_status,enum=touch_ttl,enum=write,enum=reanchor,enum=delete_pack"`
	ID                 string         `json:"id,omitempty"`
	Name               string         `json:"name,omitempty"`
	ExpectedRevision   *uint64        `json:"expected_revision,omitempty"`
	Title              string         `json:"title,omitempty" jsonschema_description:"of pack or diagram"`
	Brief              string         `json:"brief,omitempty"`
	Tags               *[]string      `json:"tags,omitempty"`
	Status             string         `json:"status,omitempty" jsonschema:"enum=draft,enum=finalized"`
	TTLMinutes         *uint64        `json:"ttl_minutes,omitempty"`
	ExtendMinutes      *uint64        `json:"extend_minutes,omitempty"`
	SectionKey         string         `json:"section_key,omitempty" jsonschema_description:"^[a-z0-9][a-z0-9_-]{1,63}$"`
	SectionTitle       string         `json:"section_title,omitempty"`
	SectionDescription string         `json:"section_description,omitempty"`
	SectionOrder       *uint64        `json:"section_order,omitempty"`
	RefKey             string         `json:"ref_key,omitempty" jsonschema_description:"^[a-z0-9][a-z0-9_-]{1,63}$"`
	RefTitle           string         `json:"ref_title,omitempty"`
	RefWhy             string         `json:"ref_why,omitempty"`
	Path               string         `json:"path,omitempty" jsonschema_description:"relative to the source root"`
	LineStart          *uint64        `json:"line_start,omitempty"`
	LineEnd            *uint64        `json:"line_end,omitempty"`
	Symbol             string         `json:"symbol,omitempty" jsonschema_description:"instead of lines: the definition of this name"`
	Group              string         `json:"group,omitempty"`
	Root               string         `json:"root,omitempty" jsonschema_description:"named source root"`
	Commit             string         `json:"commit,omitempty" jsonschema_description:"hex; what you looked at"`
	DiagramKey         string         `json:"diagram_key,omitempty" jsonschema_description:"^[a-z0-9][a-z0-9_-]{1,63}$"`
	Mermaid            string         `json:"mermaid,omitempty"`
	DiagramWhy         string         `json:"diagram_why,omitempty"`
	Clear              []string       `json:"clear,omitempty" jsonschema:"enum=title,enum=brief,enum=tags,enum=section_description" jsonschema_description:"fields to empty"`
	Snapshot           bool           `json:"snapshot,omitempty" jsonschema_description:"keep the text when finalizing"`
	Document           *pack.Document `json:"document,omitempty" jsonschema_description:"write: the whole pack; without id or name a new one"`
	ValidateOnly       bool           `json:"validate_only,omitempty"`
	Terse              bool           `json:"terse,omitempty" jsonschema_description:"reply id and revision only"`
	Query              string         `json:"query,omitempty"`
	Freshness          string         `json:"freshness,omitempty" jsonschema:"enum=fresh,enum=expiring_soon"`
	Limit              *uint64        `json:"limit,omitempty"`
	Offset             *uint64        `json:"offset,omitempty"`
}

// InputResult is the result of the tool input: {"action":…,"payload":…}.
type InputResult struct {
	Action  string          `json:"action"`
	Payload json.RawMessage `json:"payload"`
}

// WrittenJSON returns the answer as it is sent.
func (r InputResult) WrittenJSON() json.RawMessage {
	action, err := json.Marshal(r.Action)
	if err != nil || len(r.Payload) == 0 { // neither happens to a result of input
		action, r.Payload = []byte(`""`), []byte("null")
	}
	return slices.Concat([]byte(`{"action":`), action, []byte(`,"payload":`), r.Payload, []byte("}"))
}

// ReadArgs is the arguments of the tool input when it is read-only: the reading part of InputArgs.
type ReadArgs struct {
	Action    string  `json:"action,omitempty" jsonschema:"enum=list,enum=get"`
	ID        string  `json:"id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Status    string  `json:"status,omitempty" jsonschema:"enum=draft,enum=finalized"`
	Query     string  `json:"query,omitempty"`
	Freshness string  `json:"freshness,omitempty" jsonschema:"enum=fresh,enum=expiring_soon"`
	Limit     *uint64 `json:"limit,omitempty"`
	Offset    *uint64 `json:"offset,omitempty"`
}

// OutputArgs is the arguments of the tool output (context-pack contract §3 and §6.5).
type OutputArgs struct {
	Action    string  `json:"action,omitempty" jsonschema:"enum=list,enum=get,enum=diff"`
	ID        string  `json:"id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Status    string  `json:"status,omitempty" jsonschema:"enum=draft,enum=finalized"`
	Query     string  `json:"query,omitempty"`
	Freshness string  `json:"freshness,omitempty" jsonschema:"enum=fresh,enum=expiring_soon"`
	Limit     *uint64 `json:"limit,omitempty" jsonschema_description:"packs, or refs and diagrams a page"`
	Offset    *uint64 `json:"offset,omitempty"`
	Cursor    string  `json:"cursor,omitempty" jsonschema_description:"next of the page before"`
	View      string  `json:"view,omitempty" jsonschema:"enum=full,enum=compact"`
	Match     string  `json:"match,omitempty" jsonschema_description:"regexp; only refs and diagrams that match"`
	MaxTokens *uint64 `json:"max_tokens,omitempty" jsonschema_description:"budget; the most important refs stay whole"`
}
