package audit

import "encoding/json"

// The words of other packages for the subjects of these records; written chains keep them.
const (
	classRead      = "read"
	verdictAllow   = "allow"
	verdictConfirm = "confirm"
)

// callers are the values of ApprovedBy that are not users: the client that asked also answered.
var callers = []string{"token", "caller"}

// Unattended reports whether a change was allowed without the user: because policy does not ask, because the user said beforehand that it need not
// ask (Rule says which rule), or because the client itself was allowed to answer. It is false for reads.
func (e *Event) Unattended() bool {
	if e.Phase != Intent && e.Phase != Outcome || e.Class == "" || e.Class == classRead {
		return false
	}
	if e.Phase == Outcome && e.Code != "" { // a failure after the beginning also has an intent, which counts
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

// MarshalJSON returns the record as it is shown, with "unattended": true if it is.
func (r Record) MarshalJSON() ([]byte, error) {
	type plain Record // without this method
	return json.Marshal(struct {
		plain
		Unattended bool `json:"unattended,omitempty"`
	}{plain(r), r.Event.Unattended()})
}
