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

// kind is what a message is about.
type kind string

// The kinds of messages.
const (
	Waits        kind = "waits"        // a question has been opened
	Reminder     kind = "reminder"     // it is still open, and runs out soon
	Expired      kind = "expired"      // it ran out unanswered
	Summary      kind = "summary"      // of more questions than are told one by one
	announcement kind = "announcement" // something that users should know of, whoever did it
	test         kind = "test"         // the user tries the channel
)

// Message is one notification. It never contains a plan, an argument or a token.
type Message struct {
	ID        string    `json:"id"` // the same for whoever receives it twice
	Kind      kind      `json:"kind"`
	Title     string    `json:"title"`
	Text      string    `json:"text"`
	Question  string    `json:"question,omitempty"` // id of the question
	Tool      string    `json:"tool,omitempty"`
	Risk      string    `json:"risk,omitempty"`
	About     string    `json:"about,omitempty"` // the project or ecosystem, by its name
	Link      string    `json:"link,omitempty"`  // where it is answered; empty where no console is known to run
	At        time.Time `json:"at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // of the question
}

// Urgent reports whether the message should be shown prominently: a reminder, an announcement, or a high risk.
func (m Message) Urgent() bool {
	return m.Kind == Reminder || m.Kind == announcement || m.Risk == "high"
}

// Question is what a notification may tell about an approval request.
type Question struct {
	ID        string
	Tool      string
	Risk      string // "low", "medium", "high"; empty for none
	About     string
	AskedAt   time.Time
	ExpiresAt time.Time
	ByHand    bool // the user made the call, who is most likely still there to answer it
}

// maxName is how much of a name a message holds, in characters.
const maxName = 60

// PlainName reduces a name to letters, digits, blanks and "._-/", so that a receiver cannot read it as markup, a link or a new line.
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

// what returns the call that a question is about: "run_script in shop (high risk)".
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

// message returns what is told of the question.
func (q Question) message(kind kind, r Rules, now time.Time) Message {
	m := Message{ID: q.ID + "-" + string(kind), Kind: kind, Question: q.ID, Tool: PlainName(q.Tool), Risk: PlainName(q.Risk), About: PlainName(q.About), Link: r.link(q.ID), At: now.UTC(),
		ExpiresAt: q.ExpiresAt.UTC()}
	switch kind {
	case Reminder:
		m.Title = "Still waiting: " + q.what()
		m.Text = fmt.Sprintf("A call still waits for a person, and runs out %s. %s", at(q.ExpiresAt), way(m.Link))
	case Expired:
		m.Title = "Expired: " + q.what()
		m.Text = fmt.Sprintf("Nobody answered by %s, so nothing was done. The agent has to ask again.", at(q.ExpiresAt))
		m.Link = ""
	default:
		m.Title = "Approval needed: " + q.what()
		m.Text = fmt.Sprintf("A call waits for a person until %s. %s", at(q.ExpiresAt), way(m.Link))
	}
	return m
}

// NewAnnouncement returns a message that tells users of something that has happened. what is ours or masked.
func NewAnnouncement(id, what, link string, now time.Time) Message {
	return Message{ID: id, Kind: announcement, Title: "Countersign: what may be done has changed", Text: what + ". If that was not you, look: " + wayTo(link), Link: link, At: now.UTC()}
}

// NewTestMessage returns the message of a test.
func NewTestMessage(id, link string, now time.Time) Message {
	return Message{ID: id, Kind: test, Title: "Countersign: a test", Text: "Messages of this channel arrive. Nothing waits because of this one.", Link: link, At: now.UTC()}
}

// summary tells of questions that were too many to be told of one by one.
func summary(id string, r Rules, waiting, reminded, expired int, now time.Time) Message {
	m := Message{ID: id, Kind: Summary, Link: r.link(""), At: now.UTC()}
	var parts []string
	if waiting > 0 {
		parts = append(parts, calls(waiting, "more call waits", "more calls wait"))
	}
	if reminded > 0 {
		parts = append(parts, calls(reminded, "question runs out soon", "questions run out soon"))
	}
	if expired > 0 {
		parts = append(parts, calls(expired, "question expired unanswered", "questions expired unanswered"))
	}
	m.Title = strings.Join(parts, ", ")
	m.Text = "They came too fast to be told of one by one. " + way(m.Link)
	return m
}

func calls(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

// way says how the user answers.
func way(link string) string {
	if link == "" {
		return "Answer in a terminal: countersign approvals"
	}
	return "Answer at " + link
}

func wayTo(link string) string {
	if link == "" {
		return "countersign audit list"
	}
	return link
}
