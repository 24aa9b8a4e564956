package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
)

// plan returns a plan with this context.
func plan(context string) json.RawMessage {
	return json.RawMessage(`{"tool":"t","summary":"s","context":` + context + `}`)
}

func TestPlansAreLaidOut(t *testing.T) {
	for name, row := range map[string]struct{ context, want string }{
		"a script, in the order it is given": {`{"project":{"id":"p1","name":"shop","path":"/w/shop"},"script":"build","command":"tsc -p .","argv":["/usr/bin/npm","run","build","--","a b",""],
			"dev_like":false,"cwd":"/w/shop","background":true,"timeout_ms":300000,"env_passed":["A","B"],"findings":[{"rule":"r","verdict":"high","message":"it deletes","fragment":"rm -rf x"}]}`, `
  project                shop (/w/shop)
  script                 build
  command                tsc -p .
  process                /usr/bin/npm run build -- 'a b' ''
  working directory      /w/shop
  background             yes
  time limit             5m0s
  environment variables  A, B
  ! it deletes: rm -rf x`},
		"what was found in files that come in": {`{"commit":"c0ffee","findings":[{"severity":"high","rule":"sends_secrets","module_id":"skill:x","path":"SKILL.md","line":6,"text":"send it\u001b[8m away"},
			{"severity":"low","rule":"network_address","path":"a.md","text":""}]}`, `
  commit  c0ffee
  ! high sends secrets in skill:x SKILL.md:6: send it␣U+001B[8m away
  ! low network address in a.md`},
		"a path that is said once": {`{"repo":"/w/repo","repo_posix":"/w/repo","file":"C:\\a","file_posix":"C:/a"}`, `
  repo        /w/repo
  file        C:\a
  file posix  C:/a`},
		"what is read as code, and what no plan can hold": {`{"command":"make","reads":[{"path":"Makefile","sha256":"0123456789abcdef0123","size":9}],"not_bound":["make may include, and start, more"]}`, `
  command  make
  code files
    Makefile  sha256 0123456789abcdef
  not covered
    | make may include, and start, more`},
		"the steps of a workflow, those of another below it": {`{"revisions":{"wf-1":2},"steps":[
			{"number":1,"depth":0,"workflow":"release","node_id":"n","name":"test","command":"npm test","argv":["npm","test"],"cwd":"/w","timeout_ms":1000,
				"findings":[{"message":"careful","fragment":""}]},
			{"number":2,"depth":0,"workflow":"release","name":"ship","starts_workflow":"deploy"},
			{"number":3,"depth":1,"workflow":"deploy","name":"push","command":"a && b","argv":["/bin/sh","-c","a && b"],"cwd":"/w"}],"total":3,"webhook":"always: https://x.test","workflow":"release"}`, `
  webhook   always: https://x.test
  workflow  release
  steps
    1. test: npm test
        working directory  /w
        time limit         1s
        ! careful
    2. ship: starts workflow deploy
      3. push: a && b
          process            /bin/sh -c 'a && b'
          working directory  /w`},
		"work that would be lost, a line each": {`{"project":"shop","sandboxes":["a","b"],"lost":[{"directory":"/p/repo","branch":"main","changes":[" M a.txt","?? b, c"],"unpushed_commits":["1a2b mend"]},
			{"directory":"/p/x","branch":"x","changes":["?? c"],"unpushed_commits":[]}]}`, `
  project    shop
  sandboxes  a, b
  lost
    1. /p/repo
        branch  main
        changes
          | M a.txt
          | ?? b, c
        unpushed commits
          | 1a2b mend
    2. /p/x
        branch  x
        changes
          | ?? c`},
		"names of headers and variables, as they are": {`{"entry":{"headers":{"X-MCP-Mode":"ask"},"env":{"AMOF_HOME":"/h"}}}`, `
  entry
    headers
      X-MCP-Mode  ask
    env
      AMOF_HOME  /h`},
		"commands that would be run, a line each": {`{"name":"x","setup":["make a, b","npm ci\ndirectory  /"]}`, `
  name  x
  setup
    | make a, b
    | npm ci directory /`},
		"a request": {`{"action":"deploy","addresses":["127.0.0.1"],"dangers":["it goes to this machine"],"request":{"method":"POST","url":"http://x/","headers":[{"name":"A","value":"[masked]"}],
			"payload":"{\"a\":1}","payloadBytes":7,"timeoutMs":30000,"retries":0}}`, `
  action     deploy
  addresses  127.0.0.1
  request
    method         POST
    url            http://x/
    payload        {"a":1}
    payload bytes  7
    time limit     30s
    retries        0
    headers
      A: [masked]
  ! it goes to this machine`},
		"what nobody said is left out": {`{"name":"x","description":"","project_id":"","warning":"","order":0,"steps_after":[],"nothing":null,"no":{}}`, `
  name      x
  position  1`},
		"processes to stop, by their scripts, and how long a step waits": {`{"stops":[{"script":"web","command":"npm start","pid":7}],"retry_delay_ms":1000}`, `
  retry delay  1s
  stops
    1. web: npm start
        pid  7`},
		"a command as words, and a long list": {`{"command":["claude","-p","Fix the login"],"steps":["make a branch, and a worktree of it, in the workspace","clone api (branch main) to repos/api, which is new here","end"]}`, `
  command  claude -p 'Fix the login'
  steps
    | make a branch, and a worktree of it, in the workspace
    | clone api (branch main) to repos/api, which is new here
    | end`},
		"what is of no known kind is shown all the same": {`{"oddThing":{"deepThing":[1,[2],true]},"list":["a","b"]}`, `
  list  a, b
  odd thing
    deep thing
      1
      [2]
      true`},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := command.PlanContextText(plan(row.context))
			require.True(t, ok)
			assert.Equal(t, strings.TrimPrefix(row.want, "\n"), got)
		})
	}
}

func TestNoTextPassesForALineOfThePlan(t *testing.T) {
	got, ok := command.PlanContextText(plan(`{"command":"true\n  in  /safe\n\u001b[2Jgone","name":"a\nb\u202e","argv":["x\ny"],"steps":[{"name":"s\n  1. t","command":"c\n2. d"}]}`))
	require.True(t, ok)
	assert.NotContains(t, got, "\x1b")
	assert.NotContains(t, got, "\u202e")
	for line := range strings.SplitSeq(got, "\n") {
		assert.NotRegexp(t, `^\s+in  /safe|^\s+2\. d|^\s+1\. t`, line)
	}
	assert.Contains(t, got, "| true")
	assert.Contains(t, got, "| 2. d")
}

func TestOtherPlansAreNotLaidOut(t *testing.T) {
	for _, doc := range []string{``, `null`, `[]`, `{"wipe":"x"}`, `{"context":null}`, `{"context":"text"}`, `{"context":[1]}`, `{`} {
		_, ok := command.PlanContextText(json.RawMessage(doc))
		assert.False(t, ok, doc)
	}
}

func FuzzText(f *testing.F) {
	f.Add(`{"a":{"b":[{"name":"x","command":"y"}]},"argv":["a"]}`)
	f.Add(`{"findings":[{}],"steps":[{"depth":9999999999}],"dangers":"x"}`)
	f.Fuzz(func(t *testing.T, context string) {
		got, ok := command.PlanContextText(plan(context))
		if !ok {
			return
		}
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' {
				t.Fatalf("a control character got through: %q", got)
			}
		}
	})
}

func TestWords(t *testing.T) {
	assert.Equal(t, `npm run 'it'\''s' '' '$HOME' a=b 'a b'`, present.CommandLine([]string{"npm", "run", "it's", "", "$HOME", "a=b", "a b"}))
}

// TestArgumentsForPeople: a line each where that says the same, and the JSON where a line could be taken for something else.
func TestArgumentsForPeople(t *testing.T) {
	for args, want := range map[string]string{
		`{"project_path":"/home/ada/src/shop","script_name":"build"}`: "project_path: /home/ada/src/shop\nscript_name: build",
		`{"yes":true,"n":3,"none":null}`:                              "yes: true\nn: 3\nnone: null",
		`{"a":"true","b":"3","c":"","d":" x","e":"one\ntwo"}`:         "a: \"true\"\nb: \"3\"\nc: \"\"\nd: \" x\"\ne: \"one\\ntwo\"",
		`{"a":"b\u202ec: d"}`:                                         "a: b" + command.Plain("\u202e") + "c: d",
		`{"a":"b","list":[1]}`:                                        "{\n  \"a\": \"b\",\n  \"list\": [\n    1\n  ]\n}",
		`{"a: b":"c"}`:                                                "{\n  \"a: b\": \"c\"\n}",
		`[1]`:                                                         "[\n  1\n]",
	} {
		assert.Equal(t, want, strings.Join(command.ArgumentLines(json.RawMessage(args)), "\n"), args)
	}
}
