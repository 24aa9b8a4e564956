package command_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

func TestManualTextIsReadWithoutMarkdown(t *testing.T) {
	t.Parallel()
	const page = "# Title\n\nSome **bold** *text*, `code` and a\n[topic](packs.md#part), [the map](../MAP.md), [a site](https://example.org).\n\n" +
		"- first item that is long enough to be\n  wrapped here\n- **Second.** item\n\n````sh\na | b\n```\n````\n\n" +
		"| a | b |\n|---|---|\n| `x\\|y` | 2 |\n\n| name | flag | meaning |\n|---|---|---|\n| one | | a meaning that is too long for one line |\n"
	assert.Equal(t, `Title

Some bold text, `+"`code`"+` and a topic
(countersign help packs), the map
(MAP.md in the repository), a site
(https://example.org).

- first item that is long enough to be
  wrapped here
- Second. item

    a | b
    `+"```"+`

a      b
`+"`x|y`"+`  2

one
    meaning: a meaning that is too long
    for one line
`, command.ManualText(page, 40, false))
	coloured := command.ManualText("# T\n\n`c` **b**\n", 40, true)
	assert.NotContains(t, coloured, "`")
	assert.True(t, strings.HasPrefix(coloured, "\x1b["), "%q", coloured)
}
