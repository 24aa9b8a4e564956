package audit

import (
	"encoding/json"
	"strings"
)

// The default and the maximum number of records that a Filter selects.
const (
	DefaultListed = 50
	MaxListed     = 500
)

// Filter selects records of the audit log. Zero fields select everything.
type Filter struct {
	Before int64 // only records with a smaller Seq
	// After selects records with a greater Seq. It examines each of them and uses no index, which could have been modified.
	After  int64
	Phase  Phase
	Call   string // ID of the call; of an Answer and of Asked, ID of the approval request
	Tool   string
	Code   string
	Grant  string // ID of the session grant that let the call run
	Failed bool   // only records with an error code
	// Confirmation is the ID of the approval request that let the call run.
	Confirmation string
	// Unattended selects only changes that ran without a user's decision.
	Unattended bool
	Text       string // occurs anywhere in the event's JSON, ignoring the case of ASCII letters
	Limit      int    // 1 to MaxListed; less than 1 means DefaultListed
}

// Most returns the limit, clamped to its bounds.
func (f Filter) Most() int {
	if f.Limit < 1 {
		return DefaultListed
	}
	return min(f.Limit, MaxListed)
}

// Matches reports whether the filter selects the record, ignoring the limit.
func (f Filter) Matches(r *Record) bool {
	e := &r.Event
	return (f.Before <= 0 || r.Seq < f.Before) && (f.After <= 0 || r.Seq > f.After) && (f.Phase == "" || f.Phase == e.Phase) && (f.Call == "" || f.Call == e.CallID) &&
		(f.Tool == "" || f.Tool == e.Tool) && (f.Code == "" || f.Code == e.Code) && (f.Grant == "" || f.Grant == e.Grant) && (f.Confirmation == "" || f.Confirmation == e.Confirmation) && (!f.Failed || e.Code != "") && (!f.Unattended || e.Unattended()) && (f.Text == "" || e.says(f.Needle()))
}

// says reports whether the event's JSON contains the filter's needle.
func (e *Event) says(needle string) bool {
	doc, err := json.Marshal(e)
	return err == nil && strings.Contains(Fold(string(doc)), needle)
}

// Needle returns Text as it appears in an event's JSON, with its ASCII letters in lower case.
func (f Filter) Needle() string {
	doc, err := json.Marshal(f.Text)
	if err != nil { // never of a text
		return f.Text
	}
	return Fold(string(doc[1 : len(doc)-1]))
}

// Fold returns the text with its ASCII letters in lower case.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
