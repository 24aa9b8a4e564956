package ui

import (
	"cmp"
	"slices"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Queue returns approval requests in the order in which they are decided: undecided ones first, then the highest risk, then the longest wait.
func Queue(all []confirm.View) []confirm.View {
	rank := func(v confirm.View) int {
		var risk policy.Risk
		_ = risk.UnmarshalText([]byte(v.Risk)) // an unknown one counts as none
		return -int(risk)
	}
	decided := func(v confirm.View) int {
		if v.Answerer != "" {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b confirm.View) int {
		return cmp.Or(decided(a)-decided(b), rank(a)-rank(b), a.IssuedAt.Compare(b.IssuedAt), cmp.Compare(a.ID, b.ID))
	})
}
