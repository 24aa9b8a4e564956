package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/spelling"
)

func TestNearest(t *testing.T) {
	known := []string{"toolsets", "tools", "exclude_tools", "mode", "max_mode", "permission_level"}
	for word, want := range map[string]string{
		"toolset": "toolsets", "tool": "tools", "tolos": "tools", "exclude-tools": "exclude_tools", "Mode": "mode", "mdoe": "mode", "modes": "mode",
		"permision_levle": "permission_level", "maxmode": "max_mode", "mo": "", "level": "", "nonesuch": "", "": "",
	} {
		assert.Equal(t, want, spelling.Nearest(word, known), word)
	}
}
