package tool_test

import (
	"testing"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/stretchr/testify/assert"
)

func TestKnown(t *testing.T) {
	assert.Nil(t, tool.Known(""))
	assert.Nil(t, tool.Known(0))
	n := 7
	known := tool.Known(n)
	n = 8
	assert.Equal(t, 7, *known, "it is a copy")
}
