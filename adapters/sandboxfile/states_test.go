package sandboxfile_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/internal/testkit/golden"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

const (
	stateFile = "opencode-state.json"
	tableFile = "opencode-mcp-tool-servers.json"
)

func child(t testing.TB, role, home string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], home)
	cmd.Env = append(os.Environ(), "SANDBOXFILE_CHILD="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func update(t testing.TB, s *sandboxfile.Store, change func(*sandbox.State)) sandbox.State {
	t.Helper()
	state, err := s.Update(t.Context(), func(s *sandbox.State) error { change(s); return nil })
	require.NoError(t, err)
	return state
}

// furnish records two projects, one of them with everything.
func furnish(t testing.TB, s *sandboxfile.Store) {
	at := time.Date(2026, 2, 11, 10, 0, 0, 0, time.UTC)
	p := record(t, origin)
	p.CloneURL, p.ProjectID, p.BaseDir = "https://github.com/user/repo", "0123abcd", "/home/me/.opencode-projects/user-repo"
	p.CreatedAt, p.LastHealth = at, at.Add(time.Minute)
	p.Server = sandbox.Server{ProcessID: "proc-1", PID: 123, Port: 4113, Status: sandbox.Running, StartedAt: at, Version: "1.18.33", Exe: "/usr/bin/opencode", UsedAt: at.Add(time.Hour)}
	p.Sandboxes["fix-1"] = sandbox.Sandbox{
		Name: "Fix-1", Branch: "sandbox/Fix-1", BaseRef: "main", Directory: "/home/me/.opencode-projects/user-repo/worktrees/Fix-1", CreatedAt: at, CreatedBranch: true,
		StartCommand: "make a && echo <done>", Leases: map[string]string{"SANDBOX_PORT": "4300", "SANDBOX_INDEX": "1"},
	}
	p.Setup = "5e7"
	p.Doing = &sandbox.Operation{What: "create", Sandbox: "Fix-1", Owner: "me", Since: at}
	q := record(t, "ssh://git@host:2222/other/thing")
	q.SSHKey, q.BaseDir, q.CreatedAt = "/home/me/.ssh/id_ed25519", "/data/thing", at
	q.Server = sandbox.Server{Port: 4120, Status: sandbox.Failed, LastError: "it ended"}
	update(t, s, func(s *sandbox.State) {
		s.Gateway = sandbox.Gateway{ProcessID: "proc-2", PID: 124, Port: 5100, Status: sandbox.Running, StartedAt: at, LastHealth: at}
		s.Projects[p.URL.String()], s.Projects[q.URL.String()] = p, q
	})
}

// TestFiles shows both files as other programs find them.
func TestFiles(t *testing.T) {
	home := place(t)
	furnish(t, open(home))
	for name, file := range map[string]string{"state": stateFile, "servers": tableFile} {
		text := strings.ReplaceAll(read(t, memory(home, file)), home, "/HOME")
		golden.Compare(t, filepath.Join("testdata", name+".golden.json"), []byte(text))
		info, err := os.Stat(memory(home, file))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	info, err := os.Stat(memory(home))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(memory(home))
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	assert.Equal(t, []string{tableFile, stateFile, "opencode.lock"}, names, "and nothing else is left there")
}

func TestUnknownMembersStay(t *testing.T) {
	home := place(t)
	s := open(home)
	furnish(t, s)
	for _, file := range []string{stateFile, tableFile} {
		text := read(t, memory(home, file))
		text = strings.Replace(text, "{\n", "{\n\"theirs\": {\"kept\": [1.50, \"<\"]},\n", 1)
		text = strings.Replace(text, `"status": "running",`, `"status": "running", "their_field": 1e3,`, 2)
		text = strings.Replace(text, `"branch":`, `"colour": "red", "branch":`, 1)
		text = strings.Replace(text, `"title": "User Repo"`, `"title": "My own title", "mood": null`, 1)
		write(t, memory(home, file), text)
	}
	update(t, s, func(s *sandbox.State) {
		p := s.Projects[origin]
		p.Server.Status, p.Server.PID, p.Doing = sandbox.Stopped, 0, nil
		s.Projects[origin] = p
	})
	state, table := read(t, memory(home, stateFile)), read(t, memory(home, tableFile))
	for _, want := range []string{`"theirs": {`, `1.50`, `"their_field": 1e3`, `"colour": "red"`, `"pid": null`} {
		assert.Contains(t, state, want)
	}
	assert.Equal(t, 2, strings.Count(state, "their_field"))
	assert.NotContains(t, state, `"doing"`)
	for _, want := range []string{`"theirs": {`, `"title": "My own title"`, `"mood": null`, `"status": "inactive"`} {
		assert.Contains(t, table, want)
	}
}

func tableOf(t testing.TB, home string) sandboxport.ServerTable {
	t.Helper()
	var table sandboxport.ServerTable
	require.NoError(t, json.Unmarshal([]byte(read(t, memory(home, tableFile))), &table))
	return table
}

func TestTableOfServers(t *testing.T) {
	home := place(t)
	s := open(home, "OPENCODE_HOSTNAME", "0.0.0.0")
	a, b, c := record(t, "git@h:o/b"), record(t, "git@h:o/a"), record(t, "git@h:o/none")
	a.Server = sandbox.Server{Port: 4101, Status: sandbox.Running}
	put(t, s, a)
	b.Server = sandbox.Server{Port: 4102, Status: sandbox.Starting}
	put(t, s, b)
	put(t, s, c)
	table := tableOf(t, home)
	require.Len(t, table.Servers, 2, "a project that never had a server is not listed")
	assert.Equal(t, a.URL.String(), *table.Default, "the first one added")
	assert.Equal(t, []string{"active", "inactive"}, []string{table.Servers[0].Status, table.Servers[1].Status})
	assert.Equal(t, "http://127.0.0.1:4101", table.Servers[0].URL, "what listens everywhere is reached here")
	assert.Equal(t, "OPENCODE_PASSWORD", table.Servers[0].PasswordEnv)

	drop := func(key string) { update(t, s, func(s *sandbox.State) { delete(s.Projects, key) }) }
	drop(a.URL.String())
	assert.Equal(t, b.URL.String(), *tableOf(t, home).Default, "the first one left")
	drop(b.URL.String())
	assert.Nil(t, tableOf(t, home).Default)
	assert.Contains(t, read(t, memory(home, tableFile)), `"default_server": null`)
	assert.Contains(t, read(t, memory(home, tableFile)), `"servers": []`)
}

func TestTableKeepsWhatPeopleChose(t *testing.T) {
	home := place(t)
	write(t, memory(home, tableFile), `{"version":"2.0","default_server":"user-repo","servers":[
		{"id":"cc","backend_type":"claude_code","working_dir":"/w"},
		{"id":"git@github.com:user/repo.git","git_url":"git@github.com:user/repo.git","project_name":"user-repo","title":"Mine","url":"x","password":"s3cr3t","status":"active",
		 "added_at":"2025-01-01T00:00:00Z","password_env":"OTHER_PASSWORD"}]}`)
	s := open(home)
	p := record(t, origin)
	p.Server = sandbox.Server{Port: 4113, Status: sandbox.Stopped}
	put(t, s, p)
	text := read(t, memory(home, tableFile))
	assert.NotContains(t, text, "s3cr3t", "the password is not kept twice")
	for _, want := range []string{`"version": "2.0"`, `"default_server": "user-repo"`, `"working_dir": "/w"`, `"title": "Mine"`, `"added_at": "2025-01-01T00:00:00Z"`, `"OTHER_PASSWORD"`, `"http://127.0.0.1:4113"`} {
		assert.Contains(t, text, want)
	}
}

func TestHostOfServers(t *testing.T) {
	home := place(t)
	write(t, memory(home, "opencode-manager.env"), "OPENCODE_HOSTNAME=192.0.2.7\n")
	p := record(t, origin)
	p.Server.Port = 4113
	for host, want := range map[string]string{"": "http://192.0.2.7:4113", "::1": "http://[::1]:4113", "::": "http://127.0.0.1:4113", "no host!": "http://127.0.0.1:4113", "box.lan": "http://box.lan:4113"} {
		put(t, open(home, "OPENCODE_HOSTNAME", host), p)
		assert.Equal(t, want, tableOf(t, home).Servers[0].URL, host)
	}
}

// TestDamagedFiles: what cannot be read is never taken for an empty state, and never overwritten.
func TestDamagedFiles(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "cut off": `{"version":2,"projects":{"a`, "a list": `[]`, "newer": `{"version":3}`, "two": `{} {}`, "null": "null",
		"a name that leads out": `{"version":2,"global_mcp_tool":null,"projects":{"git@h:o/r.git":{"project_name":"../../x"}}}`,
		"a relative base":       `{"version":2,"global_mcp_tool":null,"projects":{"git@h:o/r.git":{"project_name":"n","base_dir":"x"}}}`,
		"a port too high":       `{"version":2,"global_mcp_tool":null,"projects":{"git@h:o/r.git":{"project_name":"n","opencode":{"port":70000}}}}`,
		"a negative pid":        `{"version":2,"global_mcp_tool":{"pid":-1}}`,
		"a word for a pid":      `{"version":2,"global_mcp_tool":{"pid":"12"}}`,
		"no time":               `{"version":2,"global_mcp_tool":{"started_at":"yesterday"}}`,
		"a sandbox with dots":   `{"version":2,"global_mcp_tool":null,"projects":{"git@h:o/r.git":{"project_name":"n","sandboxes":{"..":{}}}}}`,
		"wrong and old":         `{"projects":{"git@h:o/r.git":{"project_name":"n","opencode":{"port":"x"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			home := place(t)
			write(t, memory(home, stateFile), text)
			s := open(home)
			_, err := s.Load(t.Context())
			require.ErrorIs(t, err, sandbox.ErrState)
			assert.ErrorContains(t, err, memory(home, stateFile))
			called := false
			_, err = s.Update(t.Context(), func(*sandbox.State) error { called = true; return nil })
			require.ErrorIs(t, err, sandbox.ErrState)
			_, err = s.Migrate(t.Context(), false)
			require.ErrorIs(t, err, sandbox.ErrState)
			assert.False(t, called)
			assert.Equal(t, text, read(t, memory(home, stateFile)))
			entries, err := filepath.Glob(memory(home, "*.backup-*"))
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
	}
}

func TestDamagedTable(t *testing.T) {
	home := place(t)
	furnish(t, open(home))
	write(t, memory(home, tableFile), `{"servers":[null]}`)
	s := open(home)
	state, err := s.Load(t.Context())
	require.NoError(t, err, "the state can be read without it")
	assert.Len(t, state.Projects, 2)
	before := read(t, memory(home, stateFile))
	_, err = s.Update(t.Context(), func(s *sandbox.State) error { s.Gateway.PID = 7; return nil })
	require.ErrorIs(t, err, sandbox.ErrState)
	assert.Equal(t, before, read(t, memory(home, stateFile)))
}

func TestUnreadableState(t *testing.T) {
	home := place(t)
	require.NoError(t, os.MkdirAll(memory(home, stateFile), 0o700))
	_, err := open(home).Load(t.Context())
	require.ErrorIs(t, err, sandbox.ErrState, "a directory in its place is no empty state either")
}

// TestCutOff stops a commit after each of its steps, as a crash would: whoever comes next finds both files of one time.
func TestCutOff(t *testing.T) {
	home := place(t)
	s := open(home)
	p := record(t, origin)
	p.Server.Port = 4101
	put(t, s, p)
	oldState, oldTable := read(t, memory(home, stateFile)), read(t, memory(home, tableFile))
	p.Server.Port = 4102
	put(t, s, p)
	newState, newTable := read(t, memory(home, stateFile)), read(t, memory(home, tableFile))
	sum := sha256.Sum256([]byte(newState))

	for name, row := range map[string]struct {
		state, next, sum string
		want             int
	}{
		"after the sum":            {oldState, "", hex.EncodeToString(sum[:]), 4101},
		"after the table was laid": {oldState, newTable, hex.EncodeToString(sum[:]), 4101},
		"after the state":          {newState, newTable, hex.EncodeToString(sum[:]), 4102},
		"with a sum that is lost":  {oldState, newTable, "", 4101},
	} {
		for how, run := range map[string]func(*sandboxfile.Store) error{
			"Load": func(s *sandboxfile.Store) error { _, err := s.Load(t.Context()); return err },
			"Update": func(s *sandboxfile.Store) error {
				_, err := s.Update(t.Context(), func(*sandbox.State) error { return nil })
				return err
			},
			"Migrate": func(s *sandboxfile.Store) error { _, err := s.Migrate(t.Context(), false); return err },
		} {
			write(t, memory(home, stateFile), row.state)
			write(t, memory(home, tableFile), oldTable)
			if row.next != "" {
				write(t, memory(home, tableFile+".next"), row.next)
			}
			if row.sum != "" {
				write(t, memory(home, tableFile+".next-sum"), row.sum)
			}
			require.NoError(t, run(open(home)), name+" "+how)
			state, err := open(home).Load(t.Context())
			require.NoError(t, err)
			assert.Equal(t, row.want, state.Projects[origin].Server.Port, name)
			assert.Equal(t, fmt.Sprintf("http://127.0.0.1:%d", row.want), tableOf(t, home).Servers[0].URL, name+" "+how)
			assert.NoFileExists(t, memory(home, tableFile+".next"))
			require.NoError(t, os.RemoveAll(memory(home, tableFile+".next-sum")))
		}
	}
}

// TestKilled kills a process that changes both files all the time: they stay readable, agree, and nothing that was told to be stored is lost.
func TestKilled(t *testing.T) {
	home := place(t)
	s := open(home)
	put(t, s, record(t, origin))
	for round := range 8 {
		cmd := child(t, "write", home)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		told := 0
		for range 3 + round*2 {
			require.True(t, lines.Scan())
			told++
		}
		require.NoError(t, cmd.Process.Kill())
		for lines.Scan() {
			told++
		}
		_ = cmd.Wait()

		state, err := open(home).Load(t.Context())
		require.NoError(t, err)
		port := state.Projects[origin].Server.Port
		assert.Contains(t, []int{4100 + told%100, 4100 + (told+1)%100}, port, "what was told, or the one that was under way")
		assert.Equal(t, fmt.Sprintf("http://127.0.0.1:%d", port), tableOf(t, home).Servers[0].URL)
		assert.NoFileExists(t, memory(home, tableFile+".next"))
	}
}

// TestManyProcesses has two other processes and sixteen goroutines count together.
func TestManyProcesses(t *testing.T) {
	home := place(t)
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() { assert.NoError(t, child(t, "count", home).Run()) })
	}
	stores := []*sandboxfile.Store{open(home), open(home)}
	for i := range 16 {
		wait.Go(func() {
			for range 5 {
				assert.NoError(t, count(stores[i%2]))
			}
		})
	}
	wait.Wait()
	state, err := open(home).Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2*50+16*5, state.Gateway.PID)
}

func TestDiskFull(t *testing.T) {
	home := place(t)
	furnish(t, open(home))
	state, table := read(t, memory(home, stateFile)), read(t, memory(home, tableFile))
	out, err := child(t, "full", home).Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "file too large")
	assert.Equal(t, state, read(t, memory(home, stateFile)))
	assert.Equal(t, table, read(t, memory(home, tableFile)))
	_, err = open(home).Load(t.Context())
	require.NoError(t, err)
	assert.NoFileExists(t, memory(home, tableFile+".next"))
	leftovers, err := filepath.Glob(memory(home, ".*.tmp"))
	require.NoError(t, err)
	assert.Empty(t, leftovers)
}

func TestHeldByAnotherProcess(t *testing.T) {
	home := place(t)
	cmd := child(t, "hold", home)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.True(t, bufio.NewScanner(out).Scan())
	url := url(t, origin)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = open(home).Hold(ctx, url)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, cmd.Process.Kill())
	release, err := open(home).Hold(t.Context(), url)
	require.NoError(t, err, "a dead process holds nothing")
	release()
	_, _ = in.Close(), cmd.Wait()
}

func TestMigration(t *testing.T) {
	home := place(t)
	old := map[string]string{
		stateFile: read(t, "../../domain/sandbox/testdata/state_v0.json"), tableFile: read(t, "../../domain/sandbox/testdata/servers_v0.json"),
	}
	for name, text := range old {
		write(t, memory(home, name), text)
	}
	var warned []string
	s := sandboxfile.New(sandboxfile.Options{Home: home, Clock: &clock.Fake{}, Warn: func(text string) { warned = append(warned, text) }})
	dry, err := s.Migrate(t.Context(), true)
	require.NoError(t, err)
	assert.NotEmpty(t, dry.Changes)
	assert.Empty(t, dry.Backups)
	for name, text := range old {
		assert.Equal(t, text, read(t, memory(home, name)), "a dry run changes nothing")
	}

	state, err := s.Load(t.Context())
	require.NoError(t, err)
	p := state.Projects["git@github.com:Me/Blog.git"]
	assert.Len(t, state.Projects, 1)
	assert.Equal(t, "blog-again", p.Name)
	assert.Equal(t, "/home/me/.memory/opencode-sandboxes/blog-again", p.BaseDir)
	assert.Equal(t, sandbox.Server{PID: 4713, Port: 4102, Status: sandbox.Running}, p.Server)
	assert.Empty(t, p.SSHKey)
	assert.Equal(t, sandbox.Gateway{Status: sandbox.Stopped}, state.Gateway)
	assert.ElementsMatch(t, dry.Warnings, warned)
	for name, text := range old {
		assert.Equal(t, text, read(t, memory(home, name+".backup-20260102T030405Z")))
	}

	again, err := s.Migrate(t.Context(), false)
	require.NoError(t, err)
	assert.Empty(t, again.Changes)
	assert.Empty(t, again.Backups)
	write(t, memory(home, stateFile), old[stateFile])
	more, err := s.Migrate(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, []string{memory(home, stateFile+".backup-20260102T030405Z-1")}, more.Backups, "no copy is overwritten")

	update(t, s, func(s *sandbox.State) { s.Gateway.PID = 1 })
	text := read(t, memory(home, stateFile))
	for _, kept := range []string{`"nameless"`, `"wrong"`, `"written_by": "somebody"`} {
		assert.Contains(t, text, kept, "what could not be taken over stays for whoever mends it")
	}
}

func TestMigrationThroughUpdate(t *testing.T) {
	home := place(t)
	old := read(t, "../../domain/sandbox/testdata/state_v1.json")
	write(t, memory(home, stateFile), old)
	_, err := open(home).Update(t.Context(), func(*sandbox.State) error { return os.ErrInvalid })
	require.ErrorIs(t, err, os.ErrInvalid)
	assert.Equal(t, old, read(t, memory(home, stateFile+".backup-20260102T030405Z")))
	state, err := open(home).Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "/home/me/.ssh/id_ed25519", state.Projects["git@github.com:me/blog.git"].SSHKey)
	assert.Equal(t, time.Date(2026, 2, 11, 0, 0, 0, 0, time.UTC), state.Projects["git@github.com:me/blog.git"].CreatedAt, "without a zone it is UTC")
}

func TestNothingIsWrittenWithoutAChange(t *testing.T) {
	home := place(t)
	s := open(home)
	furnish(t, s)
	before, err := os.Stat(memory(home, stateFile))
	require.NoError(t, err)
	update(t, s, func(*sandbox.State) {})
	after, err := os.Stat(memory(home, stateFile))
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
}

// BenchmarkLoad reads the records of fifty projects with ten sandboxes each.
func BenchmarkLoad(b *testing.B) {
	s := open(place(b))
	update(b, s, func(s *sandbox.State) {
		for i := range 50 {
			p := record(b, fmt.Sprintf("git@host:owner/repo-%d", i))
			p.Server.Port = 4100 + i
			for j := range 10 {
				name := fmt.Sprintf("box-%d", j)
				p.Sandboxes[name] = sandbox.Sandbox{Name: name, Branch: "sandbox/" + name, Directory: "/base/worktrees/" + name, BaseRef: "main"}
			}
			s.Projects[p.URL.String()] = p
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.Load(b.Context())
		require.NoError(b, err)
	}
}
