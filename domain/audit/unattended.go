package audit

import "encoding/json"

// What these records are about stands in other packages' words; a chain that was written keeps them.
const (
	classRead      = "read"
	verdictAllow   = "allow"
	verdictConfirm = "confirm"
)

// callers are those in ApprovedBy who are no users: the client that asked answered.
var callers = []string{"token", "caller"}

// Unattended reports a change that was let through without the user: because policy asks nobody about it, because the user said beforehand that it
// need not ask (Rule says what), or because the caller itself was allowed to answer. Reads are none.
func (e *Event) Unattended() bool {
	if e.Phase != Intent && e.Phase != Outcome || e.Class == "" || e.Class == classRead {
		return false
	}
	if e.Phase == Outcome && e.Code != "" { // what failed after it was begun has an intent, which says so
		return false
	}
	switch e.Verdict {
	case verdictAllow:
		return e.ApprovedBy == "" || e.byCaller()
	case verdictConfirm:
		return e.byCaller() || e.Rule != "" && e.ApprovedBy == e.Rule
	}
	return false
}

func (e *Event) byCaller() bool {
	for _, word := range callers {
		if e.ApprovedBy == word {
			return true
		}
	}
	return false
}

// MarshalJSON returns the record as it is shown: with "unattended": true where it is.
func (r Record) MarshalJSON() ([]byte, error) {
	type plain Record // without this method
	return json.Marshal(struct {
		plain
		Unattended bool `json:"unattended,omitempty"`
	}{plain(r), r.Event.Unattended()})
}
