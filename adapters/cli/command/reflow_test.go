package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

func TestReflow(t *testing.T) {
	const long = "one two three four five,\nsix seven.\n\n  left as it is, however wide that may be\n\nlast"
	assert.Equal(t, "one two three four\nfive, six seven.\n\n  left as it is, however wide that may be\n\nlast", command.Reflow(long, 20))
	assert.Equal(t, "one two three four five, six seven.\n\n  left as it is, however wide that may be\n\nlast", command.Reflow(long, 500))
}
