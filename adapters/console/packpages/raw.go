package packpages

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// perPiece is the number of chunks per request for a pack that is too long for one.
const perPiece = 20

// raw answers with the pack as agents read it, as plain text or, if keep is true, as a download.
func (s *section) raw(keep bool) httpauth.Handler {
	return func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
		p, err := s.load(r.Context(), v, r.PathValue("id"))
		id := p.ID
		if tooLong(err) { // too long as data; as text it is read in pieces
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
		_, _ = io.WriteString(w, doc) // the client may be gone
	}
}

// fileName returns an ID with only characters that are safe in headers and file names.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, id)
}

// whole returns the pack as one document. One that is too long for one result is assembled from several.
func (s *section) whole(ctx context.Context, v httpauth.Identity, id string) (string, error) {
	doc, err := s.rendered(ctx, v, ui.Args{"action": "get", "id": id})
	if !tooLong(err) {
		return doc, err
	}
	var out strings.Builder
	offset, limit := 0, perPiece
	for {
		piece, err := s.rendered(ctx, v, ui.Args{"action": "get", "id": id, "offset": offset, "limit": limit})
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

// legend returns the head of a document without its paging data.
func legend(head string) string {
	before, _, _ := strings.Cut(head, "\n- paging: active\n")
	return strings.TrimSuffix(before, "\n")
}
