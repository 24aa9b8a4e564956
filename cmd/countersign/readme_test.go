package main

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcphttp"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
)

// TestTheManualFitsTheProgram: its embedding example is the one that runs, and every flag of the server stands in it with its variable.
func TestTheManualFitsTheProgram(t *testing.T) {
	t.Parallel()
	embedding, err := os.ReadFile("../../adapters/cli/manual/embedding.md")
	require.NoError(t, err)
	example, err := os.ReadFile("../../adapters/local/example_test.go")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\nhost, err(.*?)```").FindSubmatch(embedding)
	require.NotNil(t, block)
	running := strings.ReplaceAll(string(example), "\n\t", "\n")
	assert.Contains(t, running, "host, err"+strings.TrimSuffix(string(block[1]), "\n"))

	p := newPlace(t)
	environment, _, _ := p.run("help", "environment")
	out, _, _ := p.run("mcp", "--help")
	flags := regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(out, -1)
	require.Greater(t, len(flags), 10)
	for _, f := range flags {
		switch f[1] {
		case "help", "json", "jq", "template", "yes", "confirm-name", "version", "list-tools":
			continue
		}
		assert.Contains(t, environment, "--"+f[1])
		assert.Contains(t, environment, "COUNTERSIGN_"+strings.ToUpper(strings.ReplaceAll(f[1], "-", "_")))
	}
}

// TestEntriesAreReadAsTheyAreWritten: the header and the durations that connect writes into entries are those that servers read.
func TestEntriesAreReadAsTheyAreWritten(t *testing.T) {
	assert.Equal(t, mcphttp.HeaderConfirmWait, http.CanonicalHeaderKey(mcpclients.WaitHeader))
	for _, h := range mcpclients.AllHosts() {
		for _, remote := range []bool{false, true} {
			wait, ok := mcpserver.ConfirmWait(h.Wait(remote).String())
			assert.True(t, ok, "%s: %s", h.Name, h.Wait(remote))
			assert.LessOrEqual(t, wait, time.Duration(mcpserver.MaxWait))
		}
	}
}
