package sandbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

func TestParse(t *testing.T) {
	values, skipped := sandbox.ParseEnvFile("\ufeffA=1\r\n\n  # comment=2\n B = two words # kept \nexport C=3\nexport\tD = 4\nexportE=5\nF=\"quoted \"\nG='x'\nH=\"x'\nI=\"\nJ=''\n" +
		"K=a=b\nL=\nno setting\n=x\nexport =y\ntwo words=z\nA=last\nM=\"\"in\"\"\n#N=1")
	assert.Equal(t, map[string]string{
		"A": "last", "B": "two words # kept", "C": "3", "D": "4", "exportE": "5", "F": "quoted ", "G": "x", "H": "\"x'", "I": "\"", "J": "",
		"K": "a=b", "L": "", "export": "y", "M": "\"in\"",
	}, values)
	assert.Equal(t, []int{15, 16, 18}, skipped)
	values, skipped = sandbox.ParseEnvFile("")
	assert.Empty(t, values)
	assert.Empty(t, skipped)
}

func TestSet(t *testing.T) {
	for _, row := range []struct{ text, key, value, want string }{
		{"", "A", "1", "A=1\n"},
		{"# c\nA=1\nB=2\n", "A", "3", "# c\nA=3\nB=2\n"},
		{"A=1\nA=2\n", "A", "3", "A=1\nA=3\n"},
		{"A=1", "A", "2", "A=2"},
		{"A=1", "B", "2", "A=1\nB=2\n"},
		{"#A=1\n", "A", "2", "#A=1\nA=2\n"},
		{"export A=1\nx", "A", "", "A=\nx"},
		{"", "A", " x ", "A=\" x \"\n"},
		{"", "A", "'x'", "A=\"'x'\"\n"},
	} {
		got, err := sandbox.SetEnvVar(row.text, row.key, row.value)
		require.NoError(t, err)
		assert.Equal(t, row.want, got)
	}
	for _, bad := range [][2]string{{"", "x"}, {"A B", "x"}, {"#A", "x"}, {"A=", "x"}, {"A", "x\ny"}, {"A", "x\x00"}, {" A", "x"}, {"A'", "x"}, {"export A", "x"}} {
		_, err := sandbox.SetEnvVar("", bad[0], bad[1])
		assert.ErrorIs(t, err, sandbox.ErrLine, "%q", bad)
		assert.NotContains(t, err.Error(), bad[1]+"\n", "no message shows a value")
	}
}

// FuzzSet: what was set is read back, and nothing else changes.
func FuzzSet(f *testing.F) {
	for _, s := range [][3]string{
		{"A=1\n", "A", "2"}, {"x", "A", "\"q\""}, {"", "A", " "}, {"A='\n", "A", "'"}, {"\ufeffA=1", "A", "\""}, {"a\r\nA=1\r\nB=2", "B", "\r"}, {"A=1\n\nB", "C", "=#"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		before, _ := sandbox.ParseEnvFile(text)
		got, err := sandbox.SetEnvVar(text, key, value)
		if err != nil {
			require.ErrorIs(t, err, sandbox.ErrLine)
			return
		}
		after, _ := sandbox.ParseEnvFile(got)
		before[key] = value
		require.Equal(t, before, after)
		require.LessOrEqual(t, strings.Count(got, "\n"), strings.Count(text, "\n")+2)
	})
}
