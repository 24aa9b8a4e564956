package ui_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/console/ui"
)

func TestOutputIsTextAlone(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain\ttext\n":                       "plain\ttext\n",
		"\x1b[1;32mgreen\x1b[0m!":             "green!",
		"\x1b]0;a title\x07after":             "after",
		"\x1b]8;;http://x\x1b\\link":          "link",
		"\x1b[2K\rover":                       "\nover",
		"10%\r20%\r\ndone":                    "10%\n20%\ndone",
		"\x1b(Bset":                           "set",
		"\x1b]never ends, and goes on":        "never ends, and goes on",
		"\x1b":                                "",
		"a\x1b[":                              "a",
		"\x1b[31":                             "",
		"\x1b\nline":                          "\nline",
		"\x1b[3\nline":                        "\nline",
		"\x1b]0;t\x1b[1mbold":                 "bold",
		"bell\x07 and \x00 nothing":           "bell␣U+0007 and ␣U+0000 nothing",
		"\xff\xfe":                            "\uFFFD",
		"a\u202etxt.exe":                      "a␣U+202Etxt.exe",
		"\x1b[38;2;1;2;3mtrue\x1b[m\x1b[?25l": "true",
	} {
		assert.Equal(t, want, ui.Output(given), "%q", given)
	}
	assert.Equal(t, "rm -rf /␣U+001B[2K␣U+000Decho ok", ui.Printable("rm -rf /\x1b[2K\recho ok"), "a command hides nothing")
}

func TestPrintedIsBounded(t *testing.T) {
	t.Parallel()
	draw := func(s string) string {
		b := string(ui.HTML(ui.Printed("log", s)))
		return b
	}
	assert.NotContains(t, draw("short"), "left out")
	long := strings.Repeat("a line of it\n", 100_000) + "the <b>end</b>"
	html := draw(long)
	assert.Less(t, len(html), ui.MaxPrinted+1000)
	assert.Contains(t, html, "the &lt;b&gt;end&lt;/b&gt;")
	assert.Contains(t, html, "KB are not shown")
	end, missing := ui.Tail("one\ntwo\nthree", 7)
	assert.Equal(t, "three", end, "from the beginning of a line")
	assert.Equal(t, 8, missing)
	end, _ = ui.Tail(strings.Repeat("x", 100), 7)
	assert.Equal(t, "xxxxxxx", end)
}
