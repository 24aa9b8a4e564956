package osproc_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/osproc"
	"github.com/countersign-dev/countersign/domain/process"
)

func TestOrderKeepsBytes(t *testing.T) {
	want := osproc.LaunchRequest{Dir: "/home/me/.countersign/processes", ID: "bp_0123abcd", Owner: "7:8:9", Spec: process.Spec{
		Argv: []string{"sh", "", "\xff\xfe", "<&>"}, Dir: "/srv/\u00e9", Env: map[string]string{"A": "\xc3(", "B": ""}, Timeout: time.Minute, Secrets: []string{"\x80secret"}, Log: "/var/log/\xff.log",
	}}
	var wire bytes.Buffer
	require.NoError(t, want.Write(&wire))
	have, err := osproc.ReadLaunchRequest(&wire)
	require.NoError(t, err)
	assert.Equal(t, want, have)
	_, err = osproc.ReadLaunchRequest(strings.NewReader("hello"))
	require.Error(t, err)
}

func TestEnviron(t *testing.T) {
	inherited := []string{"HOME=/h", "OPENAI_API_KEY=k", "COUNTERSIGN_HOME=/c", "COUNTERSIGN_RUN_ID=run_1", "PATH=/bin", "XDG_DATA_HOME=/d", "odd", "HOMES=x"}
	assert.Equal(t, []string{"HOME=/h", "COUNTERSIGN_HOME=/c", "PATH=/bin", "XDG_DATA_HOME=/d"}, osproc.SupervisorEnviron(inherited, "COUNTERSIGN_RUN_ID"))
	assert.NotNil(t, osproc.SupervisorEnviron(nil, ""), "nil would mean everything")
}
