package sandboxcmd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/cli/sandboxcmd"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
)

// shop is the one project of most tests.
const shop = `{"status":"success","projects":[{"git_url":"ssh://git@h/acme/shop","name":"acme-shop","base_dir":"/nowhere/acme-shop","opencode_running":true,"opencode_port":4107,"worktrees":2}],
	"global_mcp_tool":{"pid":7,"port":5100,"status":"running","running":true,"active_projects":1}}`

func TestAKeyThatTheHostDoesNotKnowYet(t *testing.T) {
	asked := 0
	s := stage{answers: answers{
		"opencode_project_start": func(in input) (any, error) {
			path := "/m/opencode-keys/acme-shop-deploy.pub"
			if in.Key != "" {
				path = in.Key + ".pub"
			}
			return json.RawMessage(fmt.Sprintf(`{"status":"waiting_for_key","project":"acme-shop","git_url":%q,"public_key":"ssh-ed25519 AAAA c","public_key_path":%q,"error_detail":"Permission denied\u001b[2J"}`,
				in.URL, path)), nil
		},
		"opencode_get_deploy_key": func(input) (any, error) {
			asked++
			return json.RawMessage(`{"status":"success","project":"acme-shop","public_key":"ssh-ed25519 AAAA c","register_url":"https://github.com/acme/shop/settings/keys"}`), nil
		}}}
	got := s.run(t, "start", "git@github.com:acme/shop.git")
	assert.Equal(t, command.Exit(4), got.err, "the server does not run")
	assert.Equal(t, "ssh-ed25519 AAAA c\n", got.out, "the key alone, so that it can be piped to where it belongs")
	assert.Contains(t, got.problems, "register it at https://github.com/acme/shop/settings/keys")
	assert.Contains(t, got.problems, "Permission denied␣U+001B[2J")
	assert.Equal(t, 1, asked)

	got = s.run(t, "start", "git@github.com:acme/shop.git", "--ssh-key", "/home/me/.ssh/id")
	assert.Equal(t, command.Exit(4), got.err)
	assert.Contains(t, got.problems, "register it there")
	assert.Equal(t, 1, asked, "no deploy key is made for somebody who brings one")

	got = s.run(t, "start", "git@github.com:acme/shop.git", "--json")
	assert.Equal(t, command.Exit(4), got.err)
	assert.Empty(t, got.problems)
	assert.Contains(t, got.out, `"status":"waiting_for_key"`)
}

func TestStartSaysWhatRuns(t *testing.T) {
	s := stage{answers: answers{"opencode_project_list": says(shop), "opencode_project_start": says(`{"status":"partial","project":"acme-shop","git_url":"u","base_dir":"/p/acme-shop","message":"m",
		"opencode_url":"http://127.0.0.1:4107","opencode_pid":12,"opencode_version":"1.18","mcp_tool_error":"no port","warnings":["credentials were dropped"],"exposed":true}`)}}
	got := s.run(t, "start", "ACME-shop")
	require.NoError(t, got.err)
	assert.Equal(t, "acme-shop runs: http://127.0.0.1:4107\ndirectory  /p/acme-shop\nversion    1.18\npid        12\n", got.out)
	for _, want := range []string{"warning: credentials were dropped", "warning: the gateway is not running: no port", "other machines can reach the server"} {
		assert.Contains(t, got.problems, want)
	}
	s.answers["opencode_project_start"] = fails(fault.New(fault.Unavailable, "sandbox_opencode_start_failed", "it ended").WithDetails(map[string]string{"stderr": "line one\nno such\x1b model"}))
	got = s.run(t, "start", "acme-shop")
	assert.Contains(t, got.problems, "  | line one\n  | no such␣U+001B model\n", "its last words say why")
	assert.Contains(t, fault.From(got.err).Details, "countersign sandbox logs")
}

func TestListAndStatus(t *testing.T) {
	s := stage{answers: answers{"opencode_project_list": says(shop)}}
	got := s.run(t, "list")
	require.NoError(t, got.err)
	assert.Equal(t, "PROJECT    SERVER             SANDBOXES  URL                    DIRECTORY\nacme-shop  running port 4107  2          ssh://git@h/acme/shop  /nowhere/acme-shop\n", got.out)
	assert.Contains(t, got.problems, "gateway: running on port 5100")
	s.answers["opencode_project_list"] = says(`{"status":"success","projects":[]}`)
	for _, command := range []string{"list", "status"} {
		got = s.run(t, command)
		require.NoError(t, got.err)
		assert.Contains(t, got.problems, "countersign sandbox start URL")
	}

	s.answers["opencode_project_status"] = says(`{"status":"ok","project":"acme-shop","git_url":"u","opencode":{"pid":12,"port":4107,"url":"http://127.0.0.1:4107","status":"running","running":true},
		"global_mcp_tool":{"status":"stopped"},"base_dir":"/p","healthy":false,"worktrees":["a","b"],"log":"/m/x.log"}`)
	got = s.run(t, "status", "h.example/acme/shop")
	require.NoError(t, got.err)
	assert.Equal(t, "project    acme-shop\nurl        u\nserver     running, not responding\nat         http://127.0.0.1:4107\npid        12\ngateway    stopped\ndirectory  /p\nsandboxes  a, b\nlog        /m/x.log\n", got.out)
	s.answers["opencode_project_status"] = says(`{"status":"not_found","git_url":"u","message":"m"}`)
	got = s.run(t, "status", "h.example/acme/shop")
	assert.ErrorIs(t, got.err, sandboxcmd.ErrUnknown)
	got = s.run(t, "status", "h.example/acme/shop", "--json")
	assert.ErrorIs(t, got.err, sandboxcmd.ErrUnknown, "a script learns it from the exit code too")
	assert.Contains(t, got.out, `"not_found"`)
}

// TestStatusOfAllAsksAllAtOnce: no answer comes before every project has been asked after.
func TestStatusOfAllAsksAllAtOnce(t *testing.T) {
	const projects = 20
	list := struct {
		Status   string                  `json:"status"`
		Projects []sandboxes.ProjectItem `json:"projects"`
	}{Status: "success"}
	for i := range projects {
		list.Projects = append(list.Projects, sandboxes.ProjectItem{URL: fmt.Sprintf("ssh://git@h/p/%02d", i), Name: fmt.Sprintf("p-%02d", i)})
	}
	var all sync.WaitGroup
	all.Add(projects)
	s := stage{answers: answers{
		"opencode_project_list": func(input) (any, error) { return list, nil },
		"opencode_project_status": func(in input) (any, error) {
			all.Done()
			all.Wait()
			if in.URL == "ssh://git@h/p/03" {
				return nil, errors.New("broken")
			}
			return json.RawMessage(`{"status":"ok","opencode":{"status":"running","running":true,"version":"1.2"},"healthy":true,"worktrees":["` + in.URL + `"]}`), nil
		}}}
	got := s.run(t, "status")
	require.NoError(t, got.err)
	assert.Contains(t, got.out, "p-19     running, healthy 1.2")
	assert.Contains(t, got.out, "p-03     unknown: ")
	all.Add(projects)
	got = s.run(t, "status", "--json")
	require.NoError(t, got.err)
	var doc struct {
		Projects []struct {
			Status    string   `json:"status"`
			Sandboxes []string `json:"worktrees"`
		} `json:"projects"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &doc))
	require.Len(t, doc.Projects, projects)
	assert.Equal(t, "error", doc.Projects[3].Status)
	assert.Equal(t, []string{"ssh://git@h/p/07"}, doc.Projects[7].Sandboxes, "in the order of the list")
}

// completeSandboxNames are sandboxes of every kind.
const completeSandboxNames = `{"status":"success","project":"acme-shop","git_url":"ssh://git@h/acme/shop","worktrees":[],"count":3,"sandboxes":[
	{"name":"fix","branch":"sandbox/fix","directory":"/w/fix","head":"1","dirty":true,"changes":3,"ahead":2,"behind":1,"unpushed":2,"removable":false,"cleanup":"3 files have changes"},
	{"name":"old","branch":"main2","directory":"/w/old","head":"2","removable":true,"cleanup":"it is clean","leases":{"SANDBOX_PORT":"4300"}},
	{"name":"lost","branch":"x","directory":"/w/lost","head":"3","locked":true,"prunable":true,"removable":true,"cleanup":"its directory is gone"}]}`

func TestSandboxesAreListed(t *testing.T) {
	s := stage{answers: answers{"opencode_sandbox_list": says(completeSandboxNames)}}
	got := s.run(t, "ls", "h.example/acme/shop")
	require.NoError(t, got.err)
	assert.Equal(t, `NAME  BRANCH       STATE                                     MADE  DELETABLE
fix   sandbox/fix  3 changed, 2 ahead, 1 behind, 2 unpushed        no: 3 files have changes
old   main2        clean                                           yes: it is clean
lost  x            locked, directory missing                       yes: its directory is gone
`, got.out)
	dir := t.TempDir()
	there := stage{answers: answers{"opencode_sandbox_list": says(strings.ReplaceAll(completeSandboxNames, "/w/old", dir))}}
	got = there.run(t, "enter", "h.example/acme/shop", "OLD", "--json")
	require.NoError(t, got.err)
	assert.JSONEq(t, `{"status":"success","project":"acme-shop","git_url":"ssh://git@h/acme/shop","name":"old","branch":"main2","directory":"`+dir+`","environment":{"SANDBOX_PORT":"4300"}}`, got.out)
	got = s.run(t, "enter", "h.example/acme/shop", "other")
	assert.Equal(t, fault.NotFound, fault.From(got.err).Kind)
	assert.Contains(t, fault.From(got.err).Details, "use one of: fix, old, lost")
	got = s.run(t, "enter", "h.example/acme/shop", "lost")
	assert.ErrorContains(t, got.err, "does not exist")
	got = s.run(t, "enter", "h.example/acme/shop", "lost", "--json")
	assert.ErrorContains(t, got.err, "does not exist")
	assert.Contains(t, got.out, `{"error":true,"kind":"not_found","code":"sandbox_directory_missing",`, "no program is sent to where nothing is")
}

func TestCleaningTakesWhatCanGo(t *testing.T) {
	var deleted []string
	s := stage{answers: answers{"opencode_sandbox_list": says(completeSandboxNames), "opencode_sandbox_delete": func(in input) (any, error) {
		if in.Name == "old" {
			return nil, fault.New(fault.Conflict, "sandbox_dirty", "sandbox old holds work")
		}
		deleted = append(deleted, in.Name)
		return json.RawMessage(`{"status":"success"}`), nil
	}}}
	got := s.run(t, "clean", "h.example/acme/shop")
	require.NoError(t, got.err)
	assert.Empty(t, deleted, "a plan changes nothing")
	assert.Contains(t, got.out, "old      goes   it is clean\n")
	assert.Contains(t, got.out, "fix      stays  3 files have changes\n")
	assert.Contains(t, got.problems, "--apply")
	got = s.run(t, "clean", "h.example/acme/shop", "--apply")
	assert.ErrorContains(t, got.err, "sandbox old holds work")
	assert.Equal(t, []string{"lost"}, deleted, "one that cannot go keeps no other")
	assert.Contains(t, got.out, "deleted lost\n")
	got = s.run(t, "clean", "h.example/acme/shop", "--apply", "--json")
	require.Error(t, got.err)
	assert.JSONEq(t, `{"status":"partial","project":"acme-shop","git_url":"ssh://git@h/acme/shop","applied":true,"remove":[
		{"name":"old","branch":"main2","directory":"/w/old","reason":"it is clean","deleted":false,"error":"sandbox old holds work"},
		{"name":"lost","branch":"x","directory":"/w/lost","reason":"its directory is gone","deleted":true}],
		"keep":[{"name":"fix","branch":"sandbox/fix","directory":"/w/fix","reason":"3 files have changes","deleted":false}]}`, got.out)
}

func TestWorkInTheWayIsShown(t *testing.T) {
	s := stage{answers: answers{
		"opencode_project_destroy": fails(fault.New(fault.Conflict, "sandbox_unpushed_work", "work is in the way").WithDetails(map[string]any{"trees": []map[string]any{
			{"directory": "/p/repo", "branch": "main", "changes": []string{"?? a.txt"}, "unpushed_commits": []string{}},
			{"directory": "/p/w/x", "branch": "", "changes": []string{}, "unpushed_commits": []string{"1a2b mend\x1b"}, "more": 4}}})),
		"opencode_sandbox_delete": fails(fault.New(fault.Conflict, "sandbox_dirty", "work is in the way").WithDetails(map[string]any{"changes": []string{" M b.txt"}, "unpushed_commits": []string{}}))}}
	got := s.run(t, "destroy", "h.example/acme/shop")
	assert.Equal(t, "/p/repo (main)\n  changed   ?? a.txt\n/p/w/x\n  unpushed  1a2b mend␣U+001B\n  … and 4 more\n", got.problems)
	assert.Contains(t, fault.From(got.err).Details, "--force")
	got = s.run(t, "rm", "h.example/acme/shop", "x")
	assert.Equal(t, "  changed   M b.txt\n", got.problems)
	assert.Contains(t, fault.From(got.err).Details, "restore restores it")
	got = s.run(t, "rm", "h.example/acme/shop", "x", "--json")
	assert.Empty(t, got.problems)
	assert.Contains(t, got.out, `"code":"sandbox_dirty"`)
}

func TestASandboxWhoseSetUpFailedIsThere(t *testing.T) {
	s := stage{answers: answers{"opencode_sandbox_create": says(`{"status":"partial","project":"acme-shop","git_url":"u","worktree":{"name":"x","branch":"sandbox/x","directory":"/w/x"},
		"message":"its set-up failed","note":"main is checked out elsewhere","copied":[".env"],"leases":{"SANDBOX_PORT":"4310","SANDBOX_DB_NAME":"shop_x"},
		"setup":[{"command":"npm ci","exit_code":0,"output":"ok\n"},{"command":"make","exit_code":2,"output":"no rule\nat all\n"}]}`)}}
	got := s.run(t, "create", "h.example/acme/shop", "x")
	assert.Equal(t, command.Exit(1), got.err)
	assert.Equal(t, "sandbox x of acme-shop on branch sandbox/x: /w/x\ncopied  .env\nleased  ports from 4310 (SANDBOX_PORT), database name shop_x\n", got.out)
	assert.Contains(t, got.problems, "note: main is checked out elsewhere\n$ npm ci: done\n  | ok\n$ make: exit code 2\n  | no rule\n  | at all\nerror: its set-up failed\n")
	got = s.run(t, "create", "h.example/acme/shop", "x", "--json")
	assert.Equal(t, command.Exit(1), got.err)
	assert.Empty(t, got.problems)
}

// backups are two that were kept at the same second.
const backups = `{"status":"success","project":"acme-shop","git_url":"u","backups":[
	{"ref":"refs/opencode-backup/fix/17","sandbox":"fix","commit":"0123456789abcdef","stash":false,"at":"2020-01-01T00:00:00Z"},
	{"ref":"refs/opencode-backup/old/17","sandbox":"old","commit":"1123456789abcdef","stash":true,"at":"2020-01-01T00:00:00Z"}]}`

func TestRestoreTakesTheEndOfARef(t *testing.T) {
	var ref string
	s := stage{answers: answers{"sandbox_backups": says(backups), "sandbox_restore": func(in input) (any, error) {
		ref = in.Ref
		return json.RawMessage(`{"status":"success","project":"acme-shop","worktree":{"name":"fix","branch":"sandbox/fix","directory":"/w/fix"}}`), nil
	}}}
	got := s.run(t, "restore", "h.example/acme/shop")
	require.NoError(t, got.err)
	assert.Contains(t, got.out, "refs/opencode-backup/old/17  old      changes  1123456789ab  2020-01-01\n")
	for word, want := range map[string]string{"fix/17": "refs/opencode-backup/fix/17", "refs/opencode-backup/old/17": "refs/opencode-backup/old/17", "nonsense": "nonsense"} {
		require.NoError(t, s.run(t, "restore", "h.example/acme/shop", word).err)
		assert.Equal(t, want, ref)
	}
	got = s.run(t, "restore", "h.example/acme/shop", "17")
	assert.ErrorContains(t, got.err, "more than one")
}

func TestLogs(t *testing.T) {
	log := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(log, []byte("one\ntwo\nthree\n"), 0o600))
	answer := func(path string) func(input) (any, error) {
		return says(fmt.Sprintf(`{"status":"ok","project":"acme-shop","git_url":"u","log":%q}`, path))
	}
	s := stage{answers: answers{"opencode_project_status": answer(log)}}
	got := s.run(t, "logs", "h.example/acme/shop", "-n", "2")
	require.NoError(t, got.err)
	assert.Equal(t, "two\nthree\n", got.out)
	got = s.run(t, "logs", "h.example/acme/shop", "-n", "1", "--json")
	require.NoError(t, got.err)
	assert.JSONEq(t, fmt.Sprintf(`{"status":"success","project":"acme-shop","git_url":"u","log":%q,"lines":["three"]}`, log), got.out)
	assert.ErrorIs(t, s.run(t, "logs", "h.example/acme/shop", "-f", "--json").err, command.ErrUsage)
	assert.ErrorIs(t, s.run(t, "logs", "h.example/acme/shop", "-n", "-1").err, command.ErrUsage)
	s.answers["opencode_project_status"] = answer(log + ".not")
	got = s.run(t, "logs", "h.example/acme/shop")
	require.NoError(t, got.err)
	assert.Contains(t, got.problems, "no output from the server")
	s.answers["opencode_project_status"] = answer("")
	assert.ErrorIs(t, s.run(t, "logs", "h.example/acme/shop").err, sandboxcmd.ErrLog)
	s.answers["opencode_project_status"] = says(`{"status":"not_found","git_url":"u"}`)
	assert.ErrorIs(t, s.run(t, "logs", "h.example/acme/shop").err, sandboxcmd.ErrUnknown)
}

// reader is somebody who reads along, and does something at every write.
type reader func(text string)

func (r reader) Write(p []byte) (int, error) {
	r(string(p))
	return len(p), nil
}

func TestLogsAreFollowedUntilTheInterrupt(t *testing.T) {
	log := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(log, []byte("one\ntwo\n"), 0o600))
	s := stage{answers: answers{"opencode_project_status": says(fmt.Sprintf(`{"status":"ok","project":"acme-shop","git_url":"u","log":%q}`, log))}}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	seen := ""
	out := reader(func(text string) {
		seen += text
		switch text {
		case "two\n":
			require.NoError(t, os.WriteFile(log, []byte("one\ntwo\nthree\n"), 0o600))
		case "three\n":
			interrupt()
		}
	})
	err := s.runOn(t, ctx, &command.Terminal{In: strings.NewReader(""), Out: out, Err: reader(func(string) {})}, []string{"logs", "h.example/acme/shop", "-f", "-n", "1"})
	assert.Equal(t, command.Exit(130), err, "it was what the person wanted, so nothing is said about it")
	assert.Equal(t, "two\nthree\n", seen)
}

func TestUpkeep(t *testing.T) {
	s := stage{answers: answers{
		"opencode_mcp_status":    says(`{"status":"running","pid":7,"port":5100,"active_projects":2,"started_at":null,"last_health_check":null,"error":null}`),
		"opencode_mcp_restart":   says(`{"status":"success","message":"restarted","pid":8,"port":5100}`),
		"opencode_stop_mcp_tool": says(`{"status":"success","message":"stopped","active_projects":2}`),
		"opencode_llm_config":    says(`{"status":"success","current_model":null,"available_models":["a/x","a/y","b/z/1"],"providers":{"b":["z/1"],"a":["x","y"]},"config_path":"/c.json","exists":false}`),
		"opencode_llm_set_model": func(in input) (any, error) {
			return json.RawMessage(`{"status":"success","previous_model":"a/x","current_model":"` + in.Model + `","note":"later","warning":"not listed"}`), nil
		},
		"opencode_detect_duplicates": says(`{"status":"success","duplicates":[{"instances":[{"project_name":"a","git_url":"u1","base_dir":"/a","opencode_running":true},{"project_name":"b","git_url":"u2","base_dir":"/b"}],
			"recommendation":"keep a"}],"foreign_servers":[{"pid":99,"directory":"/a/repo"}],"message":"2 projects, 1 repository"}`),
		"opencode_cleanup_orphaned": says(`{"status":"success","orphaned_processes":[{"project":"a","pid":12,"reason":"it is gone"}],"message":"1 orphan"}`),
	}}
	for _, c := range []struct {
		words         []string
		out, problems string
	}{
		{[]string{"gateway", "status"}, "gateway          running\nat               port 5100\npid              7\nactive projects  2\n", ""},
		{[]string{"gateway", "restart"}, "restarted\nat   port 5100\npid  8\n", ""},
		{[]string{"gateway", "stop"}, "stopped\n", ""},
		{[]string{"llm"}, "model          not set\nconfigured in  /c.json (does not exist yet)\n\nPROVIDER  MODELS\na         x, y\nb         z/1\n", ""},
		{[]string{"llm", "b/z/1"}, "the default model is b/z/1; it was a/x\n", "later\nnot listed\n"},
		{[]string{"duplicates"}, "2 projects, 1 repository\n\nPROJECT  SERVER   URL  DIRECTORY\na        running  u1   /a\nb        stopped  u2   /b\n",
			"keep a\nprocess 99 is an agent server in /a/repo that Countersign did not start; it is not changed\n"},
		{[]string{"orphans"}, "PROJECT  PID  WHY\na        12   it is gone\n1 orphan\n", ""},
	} {
		got := s.run(t, c.words...)
		require.NoError(t, got.err, c.words)
		assert.Equal(t, c.out, got.out, c.words)
		assert.Equal(t, c.problems, got.problems, c.words)
	}
	assert.Contains(t, s.run(t, "__complete", "llm", "b/").out, "b/z/1\n")
}

func TestFilesThatNoToolTouches(t *testing.T) {
	created := true
	s := stage{template: command.Core{
		SandboxInit: func(context.Context) (string, bool, error) { return "/m/settings", created, nil },
		SandboxMigrate: func(_ context.Context, dry bool) (any, error) {
			return map[string][]string{"changes": {fmt.Sprintf("dry=%t", dry)}, "warnings": {"w"}, "backups": {"/m/copy"}}, nil
		}}, answers: answers{"opencode_project_list": says(shop)}}
	got := s.run(t, "init")
	require.NoError(t, got.err)
	assert.Equal(t, "/m/settings\n", got.out)
	assert.Contains(t, got.problems, "random secrets")
	created = false
	got = s.run(t, "init")
	assert.Contains(t, got.problems, "already exists, not changed")
	assert.JSONEq(t, `{"status":"success","path":"/m/settings","created":false}`, s.run(t, "init", "--json").out)

	got = s.run(t, "migrate", "--dry-run")
	require.NoError(t, got.err)
	assert.Equal(t, "dry=true\n", got.out)
	assert.Contains(t, got.problems, "nothing was changed")
	got = s.run(t, "migrate")
	assert.Equal(t, "dry=false\n", got.out)
	assert.Equal(t, "warning: w\ncopy of the former file: /m/copy\n", got.problems)
	assert.Contains(t, s.run(t, "migrate", "--json").out, `"changes":["dry=false"]`)

	s.template = command.Core{}
	for _, command := range []string{"init", "migrate"} {
		assert.ErrorIs(t, s.run(t, command).err, fault.ErrInternal, "a door without it says so")
	}
}
