package tool_test

import (
	"testing"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/stretchr/testify/assert"
)

func TestKnown(t *testing.T) {
	assert.Nil(t, tool.NilIfZero(""))
	assert.Nil(t, tool.NilIfZero(0))
	n := 7
	known := tool.NilIfZero(n)
	n = 8
	assert.Equal(t, 7, *known, "it is a copy")
}
