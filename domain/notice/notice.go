// Package notice holds the rules of notifications about pending approvals: which are due, when, how many a minute, and their texts. A Message never
// contains a plan, an argument or a token. The package is pure: times arrive as arguments, and package notify sends the messages.
//
// Its API may change at any time.
package notice

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// kind is the kind of a message.
type kind string

// The kinds of messages.
const (
	Waits        kind = "waits"        // an approval request was created
	Reminder     kind = "reminder"     // it is still pending and expires soon
	Expired      kind = "expired"      // it expired undecided
	Summary      kind = "summary"      // stands for more requests than are reported one by one
	announcement kind = "announcement" // an event that users should know about, whoever caused it
	test         kind = "test"         // the user tests the channel
)

// Message is one notification. It never contains a plan, an argument or a token.
type Message struct {
	ID        string    `json:"id"` // the same if the message is delivered twice
	Kind      kind      `json:"kind"`
	Title     string    `json:"title"`
	Text      string    `json:"text"`
	Question  string    `json:"question,omitempty"` // ID of the approval request
	Tool      string    `json:"tool,omitempty"`
	Risk      string    `json:"risk,omitempty"`
	About     string    `json:"about,omitempty"` // name of the project or ecosystem
	Link      string    `json:"link,omitempty"`  // where to decide it; empty if no console is known to run
	At        time.Time `json:"at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // of the request
}

// Urgent reports whether the message should be shown prominently: a reminder, an announcement, or a high risk.
func (m Message) Urgent() bool {
	return m.Kind == Reminder || m.Kind == announcement || m.Risk == "high"
}

// Question is the part of an approval request that a notification may contain.
type Question struct {
	ID        string
	Tool      string
	Risk      string // "low", "medium", "high"; empty for none
	About     string
	AskedAt   time.Time
	ExpiresAt time.Time
	ByHand    bool // the user made the call and is probably still there to decide
}

// maxName is the maximum length of a name in a message, in characters.
const maxName = 60

// PlainName reduces a name to letters, digits, spaces and "._-/", so that a receiver cannot read it as markup, a link or a new line.
func PlainName(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._-/", r) {
			continue
		}
		if n++; n > maxName {
			return b.String() + "…"
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// what describes the call of a request: "run_script in shop (high risk)".
func (q Question) what() string {
	text := PlainName(q.Tool)
	if about := PlainName(q.About); about != "" {
		text += " in " + about
	}
	if q.Risk != "" {
		text += " (" + PlainName(q.Risk) + " risk)"
	}
	return text
}

// message returns the message of that kind for the request.
func (q Question) message(kind kind, r Rules, now time.Time) Message {
	m := Message{ID: q.ID + "-" + string(kind), Kind: kind, Question: q.ID, Tool: PlainName(q.Tool), Risk: PlainName(q.Risk), About: PlainName(q.About), Link: r.link(q.ID), At: now.UTC(),
		ExpiresAt: q.ExpiresAt.UTC()}
	switch kind {
	case Reminder:
		m.Title = "Still waiting: " + q.what()
		m.Text = fmt.Sprintf("An approval request is still pending and expires %s. %s", at(q.ExpiresAt), way(m.Link))
	case Expired:
		m.Title = "Expired: " + q.what()
		m.Text = fmt.Sprintf("No decision by %s, so nothing was changed. The agent can ask again.", at(q.ExpiresAt))
		m.Link = ""
	default:
		m.Title = "Approval needed: " + q.what()
		m.Text = fmt.Sprintf("An approval request is pending until %s. %s", at(q.ExpiresAt), way(m.Link))
	}
	return m
}

// NewAnnouncement returns a message about an event. what must be our own text, or redacted.
func NewAnnouncement(id, what, link string, now time.Time) Message {
	return Message{ID: id, Kind: announcement, Title: "Countersign: permissions changed", Text: what + ". If this was not you, check it: " + wayTo(link), Link: link, At: now.UTC()}
}

// NewTestMessage returns a test message.
func NewTestMessage(id, link string, now time.Time) Message {
	return Message{ID: id, Kind: test, Title: "Countersign: a test", Text: "This is a test message. No action is needed.", Link: link, At: now.UTC()}
}

// summary returns a message for requests that were too many to report one by one.
func summary(id string, r Rules, waiting, reminded, expired int, now time.Time) Message {
	m := Message{ID: id, Kind: Summary, Link: r.link(""), At: now.UTC()}
	var parts []string
	if waiting > 0 {
		parts = append(parts, calls(waiting, "new request", "new requests"))
	}
	if reminded > 0 {
		parts = append(parts, calls(reminded, "request expires soon", "requests expire soon"))
	}
	if expired > 0 {
		parts = append(parts, calls(expired, "request expired", "requests expired"))
	}
	m.Title = strings.Join(parts, ", ")
	m.Text = "Too many to report one by one. " + way(m.Link)
	return m
}

func calls(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

// way describes how the user decides.
func way(link string) string {
	if link == "" {
		return "Decide in a terminal: countersign approvals"
	}
	return "Decide at " + link
}

func wayTo(link string) string {
	if link == "" {
		return "countersign audit list"
	}
	return link
}
