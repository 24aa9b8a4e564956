package audit

import "time"

// LogStatus is how the audit stands as far as can be said without reading it: what is wrong, the worst first, and how far each anchor is.
type LogStatus struct {
	Records int64          `json:"records"`
	Signed  int64          `json:"signed"` // the newest record that is signed
	Key     Key            `json:"key"`
	Anchors []AnchorStatus `json:"anchors"`
	Faults  []error        `json:"-"`
}

// AnchorStatus is one anchor in it.
type AnchorStatus struct {
	Anchor
	Put      int64     `json:"put"` // the newest record that was put there; zero for none
	At       time.Time `json:"at"`
	Behind   int64     `json:"behind"`
	Failures int       `json:"failures,omitempty"`
	Failure  string    `json:"failure,omitempty"`
}
