package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
)

// TestStage: only the intent of that very plan lets a call go on, and only until it has succeeded.
func TestStage(t *testing.T) {
	plan, other := canon.SumBytes("t", []byte("a")), canon.SumBytes("t", []byte("b"))
	record := func(p audit.Phase, call string, plan canon.Hash, code string) audit.Record {
		return audit.Record{Event: audit.Event{Phase: p, CallID: call, Plan: plan, Code: code}}
	}
	intent := record(audit.Intent, "c", plan, "")
	for name, c := range map[string]struct {
		records []audit.Record
		want    audit.Stage
	}{
		"nothing":              {nil, audit.Unknown},
		"asked and answered":   {[]audit.Record{record(audit.Asked, "c", plan, ""), record(audit.Answer, "c", plan, "")}, audit.Unknown},
		"another call":         {[]audit.Record{record(audit.Intent, "d", plan, "")}, audit.Unknown},
		"another plan":         {[]audit.Record{record(audit.Intent, "c", other, "")}, audit.Unknown},
		"begun":                {[]audit.Record{intent}, audit.UnderWay},
		"failed":               {[]audit.Record{record(audit.Outcome, "c", plan, "disk_full"), intent}, audit.UnderWay},
		"done":                 {[]audit.Record{record(audit.Outcome, "c", plan, ""), intent}, audit.Done},
		"done, oldest first":   {[]audit.Record{intent, record(audit.Outcome, "c", plan, "")}, audit.Done},
		"done by another plan": {[]audit.Record{record(audit.Outcome, "c", other, ""), intent}, audit.UnderWay},
	} {
		assert.Equal(t, c.want, audit.StageOf(c.records, "c", plan), name)
	}
	assert.Equal(t, audit.Unknown, audit.StageOf([]audit.Record{record(audit.Intent, "", canon.Hash{}, "")}, "", canon.Hash{}), "what names nothing is nothing")
}
