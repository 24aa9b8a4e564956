package present_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
)

// TestEveryKindHasAStatus: a kind nobody defined is never the caller's fault.
func TestEveryKindHasAStatus(t *testing.T) {
	want := map[fault.Kind]int{
		fault.Invalid: 400, fault.Denied: 403, fault.Unconfirmed: 428, fault.NotFound: 404, fault.Conflict: 409, fault.State: 422,
		fault.Timeout: 504, fault.Canceled: 499, fault.Unavailable: 503,
	}
	for k := range 256 {
		status, ok := want[fault.Kind(k)]
		if !ok {
			status = 500
		}
		assert.Equal(t, status, present.HTTPStatus(fault.Kind(k)), fault.Kind(k).String())
	}
}
