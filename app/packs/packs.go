package packs

import (
	"encoding/json"
	"time"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/packport"
)

// Name is the toolset's name, and Contract the document that fixes the form of its results.
const Name, Contract = "packs", tool.Contract("contextpack.v2")

// MaxOutput is the maximum size of Markdown in bytes; more is an error, never truncated (context-pack contract §3).
const MaxOutput = 1 << 20

// outputSlack is reserved for what redaction may add to a document.
const outputSlack = 64 << 10

// The typed handles of the two tools.
var (
	Input  = tool.Ref[InputArgs, InputResult]{Name: "input"}
	Output = tool.Ref[OutputArgs, tool.Text]{Name: "output"}
)

// The errors of a call before a pack's own rules apply.
var (
	ErrTTLRequired = fault.New(fault.Invalid, "pack_ttl_required", "touch_ttl needs ttl_minutes or extend_minutes")
	ErrTooLarge    = fault.New(fault.Invalid, "pack_output_too_large", "the document is too large")
)

// Deps holds the dependencies of the use cases. History and Roots may be empty, everything else is required.
type Deps struct {
	Repo     packport.Repository
	Excerpts packport.Excerpts
	History  packport.History // earlier text of refs with a commit; nil: not available
	Clock    ports.Clock
	IDs      ports.IDs
	Mask     func(lines []string) (masked []string, secrets int) // masks secrets in place and counts them
	Roots    []pack.Root                                         // the named source roots, without the default one
}

type service struct {
	Deps
	finder  PackFinder
	sight   SourceReader
	actions map[string]action
}

// now returns the time of a call.
func (s *service) now() time.Time { return s.Clock.Now().UTC() }

// Capability returns the toolset "packs". It panics, at wiring, when a required dependency is missing.
func Capability(d Deps) tool.Capability {
	if d.Repo == nil || d.Excerpts == nil || d.Clock == nil || d.IDs == nil || d.Mask == nil {
		panic("packs.Capability: Repo, Excerpts, Clock, IDs and Mask are required")
	}
	s := &service{
		Deps: d, finder: PackFinder{Packs: d.Repo, Clock: d.Clock}, sight: SourceReader{Excerpts: d.Excerpts, History: d.History, Mask: d.Mask}, actions: actions(),
	}
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute, UsesWorkingDir: true, Entries: []tool.Entry{
		{Spec: inputSpec(), Handler: inputHandler{s, NewShape(inputSchema)}},
		{Spec: outputSpec(), Handler: outputHandler{s, NewShape(outputSchema)}},
	}}
}

func inputSpec() tool.Spec {
	return tool.Spec{
		Name: Input.Name, Title: "Build a context pack",
		Description: "Create and edit context packs: anchors to exact lines of source files, notes and Mermaid diagrams, in sections. " +
			"Without arguments it lists packs. create needs ttl_minutes; every later change needs id or name, expected_revision, and: " +
			"upsert_section section_key, section_title; upsert_ref section_key, ref_key, path, and line_start, line_end or symbol; " +
			"upsert_diagram section_key, diagram_key, title, mermaid; delete_* the keys; set_meta title, brief, tags or clear; " +
			"set_status status; touch_ttl ttl_minutes or extend_minutes; write document; reanchor lets refs follow moved code.",
		Class: policy.ClassScratch, Effects: policy.Read | policy.Write,
		MaxOutput: MaxOutput + outputSlack, Input: json.RawMessage(inputSchema),
		Reading: &tool.ReadOnlyVariant{Title: "List context packs", Description: "List context packs, or get one as data, by id or name.", Input: json.RawMessage(readSchema), Covers: IsRead},
	}
}

func outputSpec() tool.Spec {
	return tool.Spec{
		Name: Output.Name, Title: "Show a context pack",
		Description: "Render a context pack as Markdown with its code excerpts as they are now. Without id or name it lists packs.",
		Class:       policy.ClassRead, Effects: policy.Read,
		MaxOutput: MaxOutput + outputSlack, Input: json.RawMessage(outputSchema),
	}
}
