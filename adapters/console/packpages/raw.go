package packpages

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// perPiece is how many chunks of a pack that is too long for one answer are asked for at a time.
const perPiece = 20

// raw answers with the pack as agents read it: Markdown as text, to look at or to keep.
func (s *section) raw(keep bool) httpauth.Handler {
	return func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
		p, err := s.load(r.Context(), v, r.PathValue("id"))
		id := p.ID
		if tooLong(err) { // as data it is too long; as text it goes piece by piece
			id, err = r.PathValue("id"), nil
		}
		var doc string
		if err == nil {
			doc, err = s.whole(r.Context(), v, id)
		}
		if err != nil {
			s.Fail(w, v, err)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		h.Set("Cache-Control", "no-store")
		if keep {
			h.Set("Content-Type", "text/markdown; charset=utf-8")
			h.Set("Content-Disposition", `attachment; filename="`+fileName(id)+`.md"`)
		}
		_, _ = io.WriteString(w, doc) // the client that asked may be gone
	}
}

// fileName returns an id with nothing in it that a header or a file system could stumble over.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, id)
}

// whole returns the pack as one document. One that is too long for one answer is put together from several: pages put together are the whole.
func (s *section) whole(ctx context.Context, v httpauth.Identity, id string) (string, error) {
	doc, err := s.document(ctx, v, ui.Args{"action": "get", "id": id})
	if !tooLong(err) {
		return doc, err
	}
	var out strings.Builder
	offset, limit := 0, perPiece
	for {
		piece, err := s.document(ctx, v, ui.Args{"action": "get", "id": id, "offset": offset, "limit": limit})
		if tooLong(err) && limit > 1 {
			limit /= 2
			continue
		}
		if err != nil {
			return "", err
		}
		head, body, _ := strings.Cut(piece, "\n[CONTENT]\n")
		if offset == 0 {
			out.WriteString(legend(head) + "\n\n[CONTENT]\n")
		}
		out.WriteString(body)
		if !strings.Contains(head, "\n- has_more: true\n") {
			return out.String(), nil
		}
		offset += limit
	}
}

// legend returns the head of a document without what it says of its page.
func legend(head string) string {
	before, _, _ := strings.Cut(head, "\n- paging: active\n")
	return strings.TrimSuffix(before, "\n")
}
