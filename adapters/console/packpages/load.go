package packpages

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
)

// load returns the pack with that ID or name.
func (s *section) load(ctx context.Context, v httpauth.Identity, id string) (Pack, error) {
	var answer struct {
		Payload Pack `json:"payload"`
	}
	err := s.Calls.Read(ctx, v, input, ui.Args{"action": "get", "id": id}, &answer)
	return answer.Payload, err
}

// rendered returns the Markdown that the tool output returns.
func (s *section) rendered(ctx context.Context, v httpauth.Identity, args ui.Args) (string, error) {
	out := s.Calls.Outcome(ctx, v, output, args)
	return out.Text, out.Err
}

// compare returns the differences between the pack and the current source.
func (s *section) compare(ctx context.Context, v httpauth.Identity, id string) (SourceDiff, error) {
	doc, err := s.rendered(ctx, v, ui.Args{"action": "diff", "id": id})
	if err != nil {
		return SourceDiff{}, err
	}
	return ReadDiff(doc), nil
}

// tooLarge is the error code of a result that exceeds the limit of the tools.
const tooLarge fault.Code = "pack_output_too_large"

func tooLong(err error) bool { return err != nil && fault.From(err).Code == tooLarge }

// excerpts reads the code of adjacent anchors of one section, from chunk number offset on. An excerpt that cannot be read contains the reason.
func (s *section) excerpts(ctx context.Context, v httpauth.Identity, p Pack, run []Chunk, offset int) map[Chunk]Excerpt {
	doc, err := s.rendered(ctx, v, ui.Args{"action": "get", "id": p.ID, "offset": offset, "limit": len(run)})
	if tooLong(err) && len(run) > 1 {
		half := len(run) / 2
		out := s.excerpts(ctx, v, p, run[:half], offset)
		for c, e := range s.excerpts(ctx, v, p, run[half:], offset+half) {
			out[c] = e
		}
		return out
	}
	missing := "the pack changed while it was read; reload the page"
	if err != nil {
		missing = fault.From(err).Message
	}
	out := ReadExcerpts(p, run, doc)
	for _, c := range run {
		if _, found := out[c]; !found {
			out[c] = Excerpt{Missing: missing}
		}
	}
	return out
}
