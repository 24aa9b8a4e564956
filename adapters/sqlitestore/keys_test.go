package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func TestKeys(t *testing.T) {
	porttest.Keys(t, func(t testing.TB) ports.EnrolledKeys {
		s := sqlitestore.Open(filepath.Join(t.TempDir(), "countersign.db"))
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		return sqlitestore.NewKeys(s)
	})
}
