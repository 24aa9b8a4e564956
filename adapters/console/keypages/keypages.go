// Package keypages is where people enrol passkeys, and see and remove the keys that prove them.
//
// It refuses to enrol anything by itself: what a browser has made is the argument of a call, which a person approves in a terminal, or with a key that
// counts already.
package keypages

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/adapters/console/markup"
	"github.com/countersign-dev/countersign/adapters/console/page"
	"github.com/countersign-dev/countersign/adapters/console/work"
	"github.com/countersign-dev/countersign/adapters/httpguard"
	"github.com/countersign-dev/countersign/adapters/passkey"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/enrolled"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Door is what knows the keys: an *app.App.
type Door interface {
	Keys(ctx context.Context) ([]app.Key, error)
}

const section = "/settings"

// Pages are the pages of the keys; New makes them.
type Pages struct {
	desk *work.Desk
	door Door
}

// New is the pages of that door's keys.
func New(desk *work.Desk, door Door) Pages { return Pages{desk, door} }

// Mount adds the pages to a mux, through what lets people in.
func (s Pages) Mount(mux *http.ServeMux, person func(httpguard.Handler) http.Handler) {
	mux.Handle("GET "+work.KeysPath, person(s.show))
	mux.Handle("POST "+work.KeysPath, person(s.enrol))
	mux.Handle("POST "+work.KeysPath+"/{id}/remove", person(s.remove))
}

// Holding has the pages behind person know with which passkeys their visitors may sign.
func Holding(person func(httpguard.Handler) http.Handler, door Door) func(httpguard.Handler) http.Handler {
	return func(h httpguard.Handler) http.Handler {
		return person(func(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
			v.Passkeys = sync.OnceValue(func() []string { return counting(r.Context(), door, v.Origin) })
			h(w, r, v)
		})
	}
}

// counting is the handles of the passkeys that count, and are bound to the name of that origin. Where they cannot be read there are none: the page of
// the keys says why.
func counting(ctx context.Context, door Door, origin string) []string {
	name, ok := passkey.RPID(origin)
	if !ok {
		return nil
	}
	all, err := door.Keys(ctx)
	var found []string
	for _, k := range all {
		if err == nil && k.Counts && k.Kind == enrolled.Passkey && k.RPID == name {
			found = append(found, k.Credential)
		}
	}
	return found
}

// challenge is what a new passkey of this browser's is made with. It holds only for pages of this browser; that the key is the person's is approved
// elsewhere.
func challenge(v httpguard.Visitor) [32]byte {
	return canon.Bytes("console.passkey.v1", []byte(v.Form))
}

func (s Pages) show(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	if base, ok := work.Named(v.Origin); ok { // a passkey needs a name, and the browser's cookie belongs to the address
		http.Redirect(w, r, base+work.KeysPath, http.StatusSeeOther)
		return
	}
	all, err := s.door.Keys(r.Context())
	if err != nil {
		fail(w, v, err)
		return
	}
	page.Page{Title: "Keys", Section: section, Crumbs: []page.Link{{Text: "Settings", Href: section}}, Notice: s.desk.Notice(r), Body: []markup.Node{
		page.Part("Enrolled keys", markup.P(page.Text("A key proves that a person approved: its signature is on record, and is verified again before anything is done. It counts as far as its enrolment is on record.")),
			table(v, all)),
		fresh(v, all),
	}}.Write(w, http.StatusOK, v)
}

func table(v httpguard.Visitor, all []app.Key) markup.Node {
	rows := make([]markup.Node, 0, len(all))
	for _, k := range all {
		stands := page.Badge(page.Good, "counts")
		if !k.Counts {
			stands = markup.Group{page.Badge(page.Bad, "does not count"), page.Text(" " + page.Printable(k.Why))}
		}
		rows = append(rows, page.Row(page.Text(page.Printable(k.Name)), page.Text(k.Kind.Words()), page.Code(k.ID), page.Text(page.Printable(k.RPID)), page.When(k.EnrolledAt),
			page.Text(page.Printable(k.EnrolledBy)), stands, page.Deed(v, work.KeysPath+"/"+url.PathEscape(k.ID)+"/remove", "Remove", k.Kind.Words()+" "+k.Name)))
	}
	return page.Table("Enrolled keys", []string{"Name", "Kind", "Id", "Bound to", "Enrolled", "Approved in", "Stands", ""}, rows, "None: a log-in of a browser, or a terminal, is all that proves a person.")
}

// fresh is the form that enrols a passkey of this browser's.
func fresh(v httpguard.Visitor, all []app.Key) markup.Node {
	name, ok := passkey.RPID(v.Origin)
	if !ok {
		return page.Part("Enrol a passkey", page.Notice(page.Warn, markup.P(page.Text("Browsers make passkeys for pages that are open under a name: http://localhost on this machine, or https."))))
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
	user := canon.Bytes("console.passkey.user.v1", []byte(v.Form))
	asks := markup.Group{work.Making(v, challenge(v), have), markup.Data("user", base64.RawURLEncoding.EncodeToString(user[:])), markup.Data("algorithms", strings.Join(algorithms, " "))}
	return page.Part("Enrol a passkey", markup.P(page.Text("Your authenticator has to verify you, by fingerprint, face or PIN. "+how)),
		page.Form(v, work.KeysPath, page.Field("key-name", "name", "Name, for people", "", markup.Required(), markup.MaxLength(strconv.Itoa(enrolled.MaxName))),
			page.Button("Enrol a passkey", asks), work.SignedField()))
}

// enrol asks for what the browser has made to be enrolled.
func (s Pages) enrol(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	k, err := passkey.Registered([]byte(r.PostFormValue(work.FieldSigned)), challenge(v), v.Origin)
	if err != nil {
		fail(w, v, err)
		return
	}
	name := strings.TrimSpace(r.PostFormValue("name"))
	s.desk.Do(w, r, v, work.Task{Title: "Enrol the passkey " + page.Printable(name), Tool: "enroll_key", Back: work.KeysPath, Args: map[string]any{
		"kind": k.Kind, "name": name, "handle": k.Credential, "public": k.Public, "rp_id": k.RPID, "user_verified": k.Verified, "backup_eligible": k.Backup, "backed_up": k.BackedUp,
		"model": k.Model, "transports": k.Transports}})
}

func (s Pages) remove(w http.ResponseWriter, r *http.Request, v httpguard.Visitor) {
	s.desk.Do(w, r, v, work.Task{Title: "Remove a key", Tool: "remove_key", Back: work.KeysPath, Args: map[string]string{"id": r.PathValue("id")}})
}

func fail(w http.ResponseWriter, v httpguard.Visitor, err error) {
	page.Fail(w, v, section, present.HTTPStatus(fault.From(err).Kind), err)
}
