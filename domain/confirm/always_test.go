package confirm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// TestScopesForPeople: nobody is asked about the id of something stored.
func TestScopesForPeople(t *testing.T) {
	const id = "92ced9c6-858c-46fd-99e2-b07d4a4b6c41"
	for scope, want := range map[string]string{
		id + "/test@5f2c": "test of the project shown here",
		id + "@5f2c":      "what is shown here",
		id:                "what is shown here",
		"shop: test@5f2c": "shop: test",
		"x" + id:          "x" + id,
		"":                "",
	} {
		assert.Equal(t, want, confirm.ScopeText(scope), scope)
	}
}
