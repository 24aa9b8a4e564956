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

// TestReadme holds the README to the program: its embedding example is the one that runs, every command it names exists, and every
// flag of the server stands in it with its variable.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	readme := string(text)

	example, err := os.ReadFile("../../adapters/local/example_test.go")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\nhost, err(.*?)```").FindStringSubmatch(readme)
	require.NotNil(t, block)
	running := strings.ReplaceAll(string(example), "\n\t", "\n")
	assert.Contains(t, running, "host, err"+strings.TrimSuffix(block[1], "\n"))

	p := newPlace(t)
	out, _, _ := p.run("mcp", "--help")
	flags := regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(out, -1)
	require.Greater(t, len(flags), 10)
	for _, f := range flags {
		switch f[1] {
		case "help", "json", "yes", "confirm-name", "version":
			continue
		}
		assert.Contains(t, readme, "--"+f[1])
		if f[1] != "list-tools" {
			assert.Contains(t, readme, "COUNTERSIGN_"+strings.ToUpper(strings.ReplaceAll(f[1], "-", "_")))
		}
	}

	named := regexp.MustCompile("(?m)(?:`|^\\$ |^)countersign ([a-z]+)(?: ([a-z]+))?").FindAllStringSubmatch(readme, -1)
	require.Greater(t, len(named), 15)
	for _, n := range named {
		words := append(strings.Fields(n[1]+" "+n[2]), "--help")
		if n[1] == "completion" || n[2] == "" {
			words = []string{n[1], "--help"}
		}
		_, problem, code := p.run(words...)
		assert.Equal(t, 0, code, "%v: %s", words, problem)
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
