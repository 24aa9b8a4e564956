package docedit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/docedit"
)

// bigSettings returns the largest an agent keeps: its settings with the history of every project in them.
func bigSettings(projects int) []byte {
	var out strings.Builder
	out.WriteString("{\n  \"projects\": {\n")
	for i := range projects {
		fmt.Fprintf(&out, "    \"/home/me/p%d\": {\"history\": [%s], \"trusted\": true},\n", i, strings.Repeat(`{"display": "do it"}, `, 20)+"{}")
	}
	return []byte(out.String() + "  },\n}\n")
}

func BenchmarkSetInBigJSON(b *testing.B) {
	doc := bigSettings(2000)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		_, err := docedit.Editor{}.Set("jsonc", doc, []docedit.Entry{entry(`{"command":"x"}`, "mcpServers", "s")})
		require.NoError(b, err)
	}
}

func BenchmarkSetInTOML(b *testing.B) {
	doc := []byte(strings.Repeat("# c\n", 10))
	for i := range 500 {
		doc = fmt.Appendf(doc, "[projects.\"/home/me/p%d\"]\ntrust_level = \"trusted\"\n", i)
	}
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		_, err := docedit.Editor{}.Set("toml", doc, []docedit.Entry{entry(`{"command":"x"}`, "mcp_servers", "s")})
		require.NoError(b, err)
	}
}
