package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/audit"
)

// TestOperationLog: an operation in a file is open only if it was the last one begun in exactly that place, or the one before.
func TestOperationLog(t *testing.T) {
	log := audit.OperationLog{Tool: "t", Place: map[string]string{"home": "/a"}}
	elsewhere := audit.OperationLog{Tool: "t", Place: map[string]string{"home": "/b"}}
	records := func(events ...audit.Event) (out []audit.Record) { // newest first
		for _, e := range events {
			out = append(out, audit.Record{Event: e})
		}
		return out
	}
	one, two := []byte("one"), []byte("two")
	begun := func(doc []byte) audit.Event { return log.Begun(time.Time{}, doc) }
	for name, c := range map[string]struct {
		records    []audit.Record
		open, over bool
	}{
		"nothing":                    {},
		"begun":                      {records(begun(one)), true, false},
		"begun, and gone on":         {records(begun(two), begun(one)), true, false},
		"another":                    {records(begun(two)), false, false},
		"ended":                      {records(log.Ended(time.Time{}, one), begun(one)), false, true},
		"ended as another step":      {records(log.Ended(time.Time{}, two), begun(one)), false, false},
		"begun anew after its end":   {records(begun(two), log.Ended(time.Time{}, one)), false, false},
		"begun in another place":     {records(elsewhere.Begun(time.Time{}, one)), false, false},
		"the intent of some call":    {records(audit.Event{Phase: audit.Intent, CallID: begun(one).CallID, Plan: begun(one).Plan}), false, false},
		"ended where it never began": {records(elsewhere.Ended(time.Time{}, one)), false, false},
	} {
		open, over := log.Judge(c.records, one)
		assert.Equal(t, []bool{c.open, c.over}, []bool{open, over}, name)
	}
	for _, r := range records(begun(one)) {
		f := log.Filter()
		assert.True(t, f.Matches(&r))
		f = elsewhere.Filter()
		assert.False(t, f.Matches(&r))
	}
}
