package configrepo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writerVar makes the test binary a process that appends events to the home it names.
const writerVar = "CONFIGREPO_TEST_WRITER"

func TestMain(m *testing.M) {
	if home := os.Getenv(writerVar); home != "" {
		for i := range 20 {
			line := `{"pid":` + strconv.Itoa(os.Getpid()) + `,"n":` + strconv.Itoa(i) + `,"pad":"` + strings.Repeat("x", 9000) + `"}`
			if _, err := configrepo.NewEvents().Append(context.Background(), home, json.RawMessage(line)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type line struct {
	number int
	text   string
	failed bool
}

func lines(t *testing.T, home string) []line {
	var got []line
	require.NoError(t, configrepo.NewEvents().Lines(context.Background(), home, func(number int, text []byte, err error) error {
		got = append(got, line{number, string(text), err != nil})
		return nil
	}))
	return got
}

func TestEvents(t *testing.T) {
	ctx, home := context.Background(), t.TempDir()
	assert.Empty(t, lines(t, home), "no log is no lines")
	file, err := configrepo.NewEvents().Append(ctx, home, json.RawMessage("{\n  \"a\": \"x\\ny\"\n}\n"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(home, "state", "logs", "events.jsonl"), file)
	_, err = configrepo.NewEvents().Append(ctx, home, json.RawMessage("[1, 2]"))
	require.NoError(t, err)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "{\"a\":\"x\\ny\"}\n[1,2]\n", string(data))
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())

	for _, bad := range []string{"", "{", "{} {}", "nope", `"` + strings.Repeat("x", configrepo.MaxEvent) + `"`} {
		_, err := configrepo.NewEvents().Append(ctx, home, json.RawMessage(bad))
		assert.ErrorIs(t, err, deployment.ErrConfig)
	}
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, data, again)
}

func TestEventsAfterACrash(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "state", "logs", "events.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("{\"a\":1}\r\n\n{\"cut"), 0o600))
	assert.Equal(t, []line{{1, `{"a":1}`, false}, {2, "", false}, {3, `{"cut`, false}}, lines(t, home))
	_, err := configrepo.NewEvents().Append(context.Background(), home, json.RawMessage("{}"))
	require.NoError(t, err)
	assert.Equal(t, []line{{1, `{"a":1}`, false}, {2, "", false}, {3, `{"cut`, false}, {4, "{}", false}}, lines(t, home))

	longest := strings.Repeat("x", configrepo.MaxEvent)
	require.NoError(t, os.WriteFile(file, []byte(longest+"\r\n"+longest+"y\n\xff\n"+longest+longest+longest+"\nend"), 0o600))
	assert.Equal(t, []line{{1, longest, false}, {2, "", true}, {3, "", true}, {4, "", true}, {5, "end", false}}, lines(t, home))
	stop := errors.New("enough")
	seen := 0
	err = configrepo.NewEvents().Lines(context.Background(), home, func(int, []byte, error) error { seen++; return stop })
	assert.ErrorIs(t, err, stop)
	assert.Equal(t, 1, seen)
}

func TestEventsOfManyProcesses(t *testing.T) {
	home := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), writerVar+"="+home)
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, string(out))
		})
	}
	group.Wait()
	got := lines(t, home)
	assert.Len(t, got, 60)
	for _, l := range got {
		assert.True(t, json.Valid([]byte(l.text)), "line %d", l.number)
	}
}

func TestEventsRefuseWhatIsNoLog(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "state", "logs", "events.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	other := filepath.Join(home, "other")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	require.NoError(t, os.Symlink(other, file))
	_, err := configrepo.NewEvents().Append(context.Background(), home, json.RawMessage("{}"))
	assert.ErrorIs(t, err, deployment.ErrDisk)
	assert.Equal(t, file, details(t, err)["path"])
	data, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Empty(t, data)
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Mkdir(file, 0o755))
	assert.ErrorIs(t, configrepo.NewEvents().Lines(context.Background(), home, nil), deployment.ErrPath)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.WriteFile(file, []byte("{}\n"), 0o600))
	assert.ErrorIs(t, configrepo.NewEvents().Lines(ctx, home, nil), context.Canceled)
}
