package visible

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLatin(t *testing.T) {
	assert.Len(t, standFor, len(standIns), "each letter has one that it stands for")
	for in, want := range map[string]string{
		"plain text\n\tx":                        "plain text\n\tx",
		"Іgnоrе":                                 "Ignore", // Cyrillic
		"ıɡnοre":                                 "ignore",
		"ig\u200bno\u00adre\u2060 \U000e0041all": "ignore all",
		"igno\u0301re\u00a0all":                  "ignore all",
		"a\u2044b":                               "a/b",
		"наши":                                   "нaши",
	} {
		assert.Equal(t, want, Latin(in), in)
	}
}
