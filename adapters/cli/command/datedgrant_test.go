package command_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/confirm"
)

// TestParseUntil: eight hours unless somebody says otherwise, and each tick by its own word.
func TestParseUntil(t *testing.T) {
	for text, want := range map[string]confirm.Until{
		"": {For: 8 * time.Hour}, "30m": {For: 30 * time.Minute}, " 3D ": {For: 72 * time.Hour}, "24h any-host": {For: 24 * time.Hour, AnyEntry: true},
		"any-arguments any-host": {For: 8 * time.Hour, AnyArgs: true, AnyEntry: true},
	} {
		got, err := command.ParseUntil(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"y", "0h", "-1h", "31d", "10s", "8h please", "any-arguments 3h", "1e9d", "8"} {
		_, err := command.ParseUntil(text)
		assert.Error(t, err, text)
	}
	for _, text := range []string{"31d", "90d", "99999999d", "721h"} {
		_, err := command.ParseUntil(text)
		assert.ErrorContains(t, err, "use 1 minute to 30 days", text)
	}
}
