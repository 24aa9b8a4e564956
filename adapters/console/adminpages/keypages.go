package adminpages

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
)

// KeyCore is what knows the keys: an *app.App.
type KeyCore interface {
	Keys(ctx context.Context) ([]app.Key, error)
}

const section = "/settings"

// KeyPages are the pages of the keys; New makes them.
type KeyPages struct {
	runner *ui.CallRunner
	core   KeyCore
}

// NewKeyPages returns the pages of that core's enrolled keys.
func NewKeyPages(runner *ui.CallRunner, core KeyCore) KeyPages { return KeyPages{runner, core} }

// Mount adds the pages to a mux, through what lets users in.
func (s KeyPages) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET "+ui.KeysPath, person(s.show))
	mux.Handle("POST "+ui.KeysPath, person(s.enrol))
	mux.Handle("POST "+ui.KeysPath+"/{id}/remove", person(s.remove))
}

// WithPasskeys has the pages behind user know with which passkeys their visitors may sign.
func WithPasskeys(person func(httpauth.Handler) http.Handler, core KeyCore) func(httpauth.Handler) http.Handler {
	return func(h httpauth.Handler) http.Handler {
		return person(func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
			v.Passkeys = sync.OnceValue(func() []string { return counting(r.Context(), core, v.Origin) })
			h(w, r, v)
		})
	}
}

// counting returns the handles of the passkeys that count, and are bound to the name of that origin. Where they cannot be read there are none: the page of
// the keys says why.
func counting(ctx context.Context, core KeyCore, origin string) []string {
	name, ok := passkey.RPID(origin)
	if !ok {
		return nil
	}
	all, err := core.Keys(ctx)
	var found []string
	for _, k := range all {
		if err == nil && k.Counts && k.Kind == enrolled.Passkey && k.RPID == name {
			found = append(found, k.Credential)
		}
	}
	return found
}

// challenge returns what a new passkey of this browser's is made with. It holds only for pages of this browser; that the key is the user's is approved
// elsewhere.
func challenge(v httpauth.Identity) [32]byte {
	return canon.SumBytes("console.passkey.v1", []byte(v.Form))
}

func (s KeyPages) show(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	if base, ok := ui.Named(v.Origin); ok { // a passkey needs a name, and the browser's cookie belongs to the address
		http.Redirect(w, r, base+ui.KeysPath, http.StatusSeeOther)
		return
	}
	all, err := s.core.Keys(r.Context())
	if err != nil {
		fail(w, v, err)
		return
	}
	ui.Page{Title: "Keys", Section: section, Crumbs: []ui.PageLink{{Text: "Settings", Href: section}}, Notice: s.runner.Notice(r), Body: []ui.Node{
		ui.Part("Enrolled keys", ui.P(ui.Text("A key proves that a person approved: its signature is on record, and is verified again before anything is done. It counts as far as its enrolment is on record.")),
			table(v, all)),
		fresh(v, all),
	}}.Write(w, http.StatusOK, v)
}

func table(v httpauth.Identity, all []app.Key) ui.Node {
	rows := make([]ui.Node, 0, len(all))
	for _, k := range all {
		stands := ui.Badge(ui.Good, "counts")
		if !k.Counts {
			stands = ui.Group{ui.Badge(ui.Bad, "does not count"), ui.Text(" " + ui.Printable(k.Why))}
		}
		rows = append(rows, ui.Row(ui.Text(ui.Printable(k.Name)), ui.Text(k.Kind.Words()), ui.InlineCode(k.ID), ui.Text(ui.Printable(k.RPID)), ui.When(k.EnrolledAt),
			ui.Text(ui.Printable(k.EnrolledBy)), stands, ui.ActionForm(v, ui.KeysPath+"/"+url.PathEscape(k.ID)+"/remove", "Remove", k.Kind.Words()+" "+k.Name)))
	}
	return ui.DataTable("Enrolled keys", []string{"Name", "Kind", "Id", "Bound to", "Enrolled", "Approved in", "Stands", ""}, rows, "None: a log-in of a browser, or a terminal, is all that proves a person.")
}

// fresh returns the form that enrols a passkey of this browser's.
func fresh(v httpauth.Identity, all []app.Key) ui.Node {
	name, ok := passkey.RPID(v.Origin)
	if !ok {
		return ui.Part("Enrol a passkey", ui.Notice(ui.Warn, ui.P(ui.Text("Browsers make passkeys for pages that are open under a name: http://localhost on this machine, or https."))))
	}
	var have, algorithms []string
	first := true
	for _, k := range all {
		if k.Kind == enrolled.Passkey && k.RPID == name {
			have = append(have, k.Credential)
		}
		first = first && !(k.Counts && k.Kind == enrolled.Passkey)
	}
	for _, a := range passkey.Algorithms() {
		algorithms = append(algorithms, strconv.Itoa(a))
	}
	how := "It is approved with a passkey that is enrolled already."
	if first {
		how = "The first one is approved in a terminal (or with a security key that is enrolled), so that no program that came by this browser's log-in enrols one of its own."
	}
	user := canon.SumBytes("console.passkey.user.v1", []byte(v.Form))
	asks := ui.Group{ui.Making(v, challenge(v), have), ui.Data("user", base64.RawURLEncoding.EncodeToString(user[:])), ui.Data("algorithms", strings.Join(algorithms, " "))}
	return ui.Part("Enrol a passkey", ui.P(ui.Text("Your authenticator has to verify you, by fingerprint, face or PIN. "+how)),
		ui.PostForm(v, ui.KeysPath, ui.Field("key-name", "name", "Name, for people", "", ui.Required(), ui.MaxLength(strconv.Itoa(enrolled.MaxName))),
			ui.SubmitButton("Enrol a passkey", asks), ui.SignedField()))
}

// enrol asks for what the browser has made to be enrolled.
func (s KeyPages) enrol(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	k, err := passkey.Registered([]byte(r.PostFormValue(ui.FieldSigned)), challenge(v), v.Origin)
	if err != nil {
		fail(w, v, err)
		return
	}
	name := strings.TrimSpace(r.PostFormValue("name"))
	s.runner.Do(w, r, v, ui.Task{Title: "Enrol the passkey " + ui.Printable(name), Tool: control.EnrollKey.Name, Back: ui.KeysPath, Args: control.KeyInput{Kind: k.Kind, Name: name,
		Handle: k.Credential, Public: k.Public, RPID: k.RPID, Verified: k.Verified, Backup: k.Backup, BackedUp: k.BackedUp, Model: k.Model, Transports: k.Transports}})
}

func (s KeyPages) remove(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.runner.Do(w, r, v, ui.Task{Title: "Remove a key", Tool: control.RemoveKey.Name, Back: ui.KeysPath, Args: control.KeyID{ID: r.PathValue("id")}})
}

func fail(w http.ResponseWriter, v httpauth.Identity, err error) {
	ui.Fail(w, v, section, present.HTTPStatus(fault.From(err).Kind), err)
}
