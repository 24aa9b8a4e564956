package ui

import (
	"context"
	"fmt"
	"net/http"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Revealing is the last path segment at which a request's page is shown without redaction, after the path of its decision.
const Revealing = "reveal"

// revealer may be implemented by a Core: it returns an approval request without redaction, for the user at the page.
type revealer interface {
	Reveal(ctx context.Context, id string) (confirm.View, error)
}

// reveal returns the form in which the user asks to see the redacted parts of a request; nil if there are none.
func reveal(v httpauth.Identity, action string, c confirm.View) Node {
	if c.Masked == 0 || c.Revealed {
		return nil
	}
	said := fmt.Sprintf("%d values are redacted.", c.Masked)
	if c.Masked == 1 {
		said = "1 value is redacted."
	}
	if c.MustReveal {
		said += " Redacted values can run as code, so reveal them before you approve."
	}
	return PostForm(v, action+"/"+Revealing, P(TextNode(said)), Div(Class("buttons"), SubmitButton("Reveal redacted values", about("Reveal redacted values", c))))
}

// reveal shows the request of a job without redaction.
func (d *CallRunner) reveal(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	j, ok := d.seen(v, r.PathValue("id"))
	core, can := d.core.(revealer)
	if !ok || !can || j.Now().State != JobAsking {
		d.show(w, r, v)
		return
	}
	now := j.Now()
	bare, err := core.Reveal(r.Context(), now.Outcome.Request.ID)
	if err != nil {
		Fail(w, v, "", present.HTTPStatus(fault.From(err).Kind), err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	Page{Title: j.Task.Title, Crumbs: j.crumbs(), Body: j.questionOf(v, bare, now)}.Write(w, http.StatusOK, v)
}
