package audit

import "time"

// LogStatus is the status of the audit log as far as it is known without reading the records: faults, the worst first, and the position of each
// anchor.
type LogStatus struct {
	Records int64          `json:"records"`
	Signed  int64          `json:"signed"` // the newest signed record
	Key     Key            `json:"key"`
	Anchors []AnchorStatus `json:"anchors"`
	Faults  []error        `json:"-"`
}

// AnchorStatus is the status of one anchor.
type AnchorStatus struct {
	Anchor
	Put      int64     `json:"put"` // the newest record added to it; zero for none
	At       time.Time `json:"at"`
	Behind   int64     `json:"behind"`
	Failures int       `json:"failures,omitempty"`
	Failure  string    `json:"failure,omitempty"`
}
