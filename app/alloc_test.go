package app_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
)

// TestAQueryAllocatesLittle: the whole pipeline around a trivial query, its audit record included. It takes about 70 allocations; twice
// that would be a mistake.
func TestAQueryAllocatesLittle(t *testing.T) {
	h := open(t)
	c := tool.Call{Session: "s1", Principal: me, Tool: "read_note", Args: json.RawMessage(`{"name":"a","text":"some words"}`)}
	require.NoError(t, h.App.Call(context.Background(), c).Err)
	assert.LessOrEqual(t, testing.AllocsPerRun(500, func() { h.App.Call(context.Background(), c) }), 120.0)
}
