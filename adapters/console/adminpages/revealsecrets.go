package adminpages

import (
	"net/http"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// reveal shows a request without redaction, to the user who could approve it.
func (s *approvalSection) reveal(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	c, waits, err := s.waiting(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		s.fail(w, v, err)
		return
	case !waits:
		s.one(w, r, v)
		return
	case !s.runner.Decides(v, tool.Name(c.Tool)):
		s.fail(w, v, httpauth.ErrReach)
		return
	}
	bare, err := s.core.Reveal(r.Context(), c.ID)
	if err != nil {
		s.question(w, v, s.approvalSheet(r.Context(), v, c), http.StatusConflict, ui.Problem(fault.From(err)))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.question(w, v, s.approvalSheet(r.Context(), v, bare), http.StatusOK, nil)
}
