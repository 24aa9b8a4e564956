package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
)

// TestStage: a call may continue only after an intent with exactly that plan, and only until it has any outcome.
func TestStage(t *testing.T) {
	plan, other := canon.SumBytes("t", []byte("a")), canon.SumBytes("t", []byte("b"))
	record := func(p audit.Phase, call string, plan canon.Hash, code string) audit.Record {
		return audit.Record{Event: audit.Event{Phase: p, CallID: call, Plan: plan, Code: code}}
	}
	asking := record(audit.Outcome, "c", plan, "confirm_token_required")
	approved, done := record(audit.Intent, "c", plan, ""), record(audit.Outcome, "c", plan, "")
	approved.Event.Confirmation, done.Event.Confirmation = "cf", "cf"
	intent := record(audit.Intent, "c", plan, "")
	for name, c := range map[string]struct {
		records []audit.Record
		want    audit.Stage
	}{
		"nothing":                                {nil, audit.Stage{}},
		"asked and answered":                     {[]audit.Record{record(audit.Asked, "c", plan, ""), record(audit.Answer, "c", plan, "")}, audit.Stage{}},
		"another call":                           {[]audit.Record{record(audit.Intent, "d", plan, "")}, audit.Stage{}},
		"another plan":                           {[]audit.Record{record(audit.Intent, "c", other, "")}, audit.Stage{}},
		"let through":                            {[]audit.Record{intent}, audit.Stage{Allowed: true}},
		"failed":                                 {[]audit.Record{record(audit.Outcome, "c", plan, "disk_full"), intent}, audit.Stage{Allowed: true, Over: true, Failed: true}},
		"succeeded":                              {[]audit.Record{record(audit.Outcome, "c", plan, ""), intent}, audit.Stage{Allowed: true, Over: true}},
		"asked, and denied":                      {[]audit.Record{asking}, audit.Stage{}},
		"asked, and going on":                    {[]audit.Record{approved, asking}, audit.Stage{Allowed: true}},
		"recorded late":                          {[]audit.Record{asking, approved}, audit.Stage{Allowed: true}},
		"asked, and done":                        {[]audit.Record{done, approved, asking}, audit.Stage{Allowed: true, Over: true}},
		"by a session grant, in an older record": {[]audit.Record{done, intent}, audit.Stage{Allowed: true, Over: true}},
		"oldest first":                           {[]audit.Record{intent, record(audit.Outcome, "c", plan, "")}, audit.Stage{Allowed: true, Over: true}},
		"over by another plan":                   {[]audit.Record{record(audit.Outcome, "c", other, ""), intent}, audit.Stage{Allowed: true}},
		"what it queued, begun":                  {[]audit.Record{record(audit.Begun, "c", plan, ""), intent}, audit.Stage{Allowed: true, Begun: true}},
		"and ended":                              {[]audit.Record{record(audit.Ended, "c", plan, "x"), record(audit.Begun, "c", plan, ""), intent}, audit.Stage{Allowed: true, Begun: true, Ended: true}},
	} {
		assert.Equal(t, c.want, audit.StageOf(c.records, "c", plan), name)
		assert.Equal(t, c.want.Allowed && !c.want.Over, c.want.UnderWay(), name)
	}
	assert.Equal(t, audit.Stage{}, audit.StageOf([]audit.Record{record(audit.Intent, "", canon.Hash{}, "")}, "", canon.Hash{}), "what names nothing is nothing")
}
