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

// KeyCore lists the enrolled keys: an *app.App.
type KeyCore interface {
	Keys(ctx context.Context) ([]app.Key, error)
}

const section = "/settings"

// KeyPages provides the pages of enrolled keys. Create it with NewKeyPages.
type KeyPages struct {
	runner *ui.CallRunner
	core   KeyCore
}

// NewKeyPages returns the pages of that core's enrolled keys.
func NewKeyPages(runner *ui.CallRunner, core KeyCore) KeyPages { return KeyPages{runner, core} }

// Mount adds the pages to a mux, behind the authentication of users.
func (s KeyPages) Mount(mux *http.ServeMux, person func(httpauth.Handler) http.Handler) {
	mux.Handle("GET "+ui.KeysPath, person(s.show))
	mux.Handle("POST "+ui.KeysPath, person(s.enrol))
	mux.Handle("POST "+ui.KeysPath+"/{id}/remove", person(s.remove))
}

// WithPasskeys adds to each identity the passkeys with which the visitor can sign.
func WithPasskeys(person func(httpauth.Handler) http.Handler, core KeyCore) func(httpauth.Handler) http.Handler {
	return func(h httpauth.Handler) http.Handler {
		return person(func(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
			v.Passkeys = sync.OnceValue(func() []string { return counting(r.Context(), core, v.Origin) })
			h(w, r, v)
		})
	}
}

// counting returns the handles of the valid passkeys of the host name of that origin. If the keys cannot be read it returns none; the page of
// keys shows the error.
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

// challenge returns the challenge for a new passkey. It is valid only for pages of this browser. The enrolment itself needs an approval.
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
		ui.Part("Enrolled keys", ui.P(ui.Text("A key proves that a person approved. Its signature is stored in the audit log and verified again before the plan is applied. A key is valid while the audit log holds its enrolment.")),
			table(v, all)),
		fresh(v, all),
	}}.Write(w, http.StatusOK, v)
}

func table(v httpauth.Identity, all []app.Key) ui.Node {
	rows := make([]ui.Node, 0, len(all))
	for _, k := range all {
		stands := ui.Badge(ui.Good, "Valid")
		if !k.Counts {
			stands = ui.Group{ui.Badge(ui.Bad, "Invalid"), ui.Text(" " + ui.Printable(k.Why))}
		}
		rows = append(rows, ui.Row(ui.Text(ui.Printable(k.Name)), ui.Text(k.Kind.Words()), ui.InlineCode(k.ID), ui.Text(ui.Printable(k.RPID)), ui.When(k.EnrolledAt),
			ui.Text(ui.Printable(k.EnrolledBy)), stands, ui.ActionForm(v, ui.KeysPath+"/"+url.PathEscape(k.ID)+"/remove", "Remove", k.Kind.Words()+" "+k.Name)))
	}
	return ui.DataTable("Enrolled keys", []string{"Name", "Kind", "ID", "Host name", "Enrolled", "Approved in", "Status", ""}, rows, "No enrolled keys. A browser login or a terminal is the only proof of an approval.")
}

// fresh returns the form that enrols a new passkey.
func fresh(v httpauth.Identity, all []app.Key) ui.Node {
	name, ok := passkey.RPID(v.Origin)
	if !ok {
		return ui.Part("Enrol a passkey", ui.Notice(ui.Warn, ui.P(ui.Text("Passkeys need a host name: open this page at http://localhost on this machine, or over https."))))
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
	how := "An enrolled passkey approves the enrolment."
	if first {
		how = "You approve the first passkey in a terminal or with an enrolled security key, so that a program that stole this browser session cannot enrol one."
	}
	user := canon.SumBytes("console.passkey.user.v1", []byte(v.Form))
	asks := ui.Group{ui.Making(v, challenge(v), have), ui.Data("user", base64.RawURLEncoding.EncodeToString(user[:])), ui.Data("algorithms", strings.Join(algorithms, " "))}
	return ui.Part("Enrol a passkey", ui.P(ui.Text("Your authenticator must verify you by fingerprint, face or PIN. "+how)),
		ui.PostForm(v, ui.KeysPath, ui.Field("key-name", "name", "Name", "", ui.Required(), ui.MaxLength(strconv.Itoa(enrolled.MaxName))),
			ui.SubmitButton("Enrol passkey", asks), ui.SignedField()))
}

// enrol calls the tool that enrols the passkey that the browser created.
func (s KeyPages) enrol(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	k, err := passkey.Registered([]byte(r.PostFormValue(ui.FieldSigned)), challenge(v), v.Origin)
	if err != nil {
		fail(w, v, err)
		return
	}
	name := strings.TrimSpace(r.PostFormValue("name"))
	s.runner.Do(w, r, v, ui.Task{Title: "Enrol passkey " + ui.Printable(name), Tool: control.EnrollKey.Name, Back: ui.KeysPath, Args: control.KeyInput{Kind: k.Kind, Name: name,
		Handle: k.Credential, Public: k.Public, RPID: k.RPID, Verified: k.Verified, Backup: k.Backup, BackedUp: k.BackedUp, Model: k.Model, Transports: k.Transports}})
}

func (s KeyPages) remove(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	s.runner.Do(w, r, v, ui.Task{Title: "Remove key", Tool: control.RemoveKey.Name, Back: ui.KeysPath, Args: control.KeyID{ID: r.PathValue("id")}})
}

func fail(w http.ResponseWriter, v httpauth.Identity, err error) {
	ui.Fail(w, v, section, present.HTTPStatus(fault.From(err).Kind), err)
}
