package command_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Where nothing can be drawn there is no board, and what is shown on it goes nowhere.
func TestNoBoardInPipes(t *testing.T) {
	term, out, errs := piped("")
	board := term.Board()
	assert.Nil(t, board)
	board.Show([]string{"a", "b"})
	board.Clear()
	assert.Empty(t, out.String())
	assert.Empty(t, errs.String())
}
