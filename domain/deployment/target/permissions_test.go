package target_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

// rulesOf returns the permissions that opencode gets from modules, one per line, and the warnings about those that it does not get.
func rulesOf(t *testing.T, newest bool, files ...string) (rules, warnings string) {
	t.Helper()
	var modules []target.Module
	for i, text := range files {
		modules = append(modules, module("permissions:"+string(rune('a'+i)), deployment.ModulePermissions, "rules.json", text))
	}
	s := with(modules).set("opencode", deployment.ScopeProject)
	s.Has = func(_ string, _ deployment.Format, key []string) (bool, bool) {
		return newest, newest && strings.Join(key, "/") == "mcp/servers"
	}
	out := s.render(t)
	var lines []string
	for _, f := range out.Files {
		for _, k := range f.Part.Keys {
			line := strings.Join(k.Path, " > ") + " = " + string(k.Value)
			if k.Item {
				line = "+ " + line
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), strings.Join(out.Warnings, "\n")
}

// TestPermissionsOfOpencode: a rule allows no more there than in Claude Code, and denies no less; what cannot be expressed is omitted, with a
// warning.
func TestPermissionsOfOpencode(t *testing.T) {
	for _, c := range []struct{ list, rule, want string }{
		{"allow", "Bash(git status:*)", `bash > git status *`}, {"deny", "Bash(git push:*)", `bash > git push*`}, {"ask", "Bash(make *)", `bash > make*`},
		{"allow", "Bash(npm test)", `bash > npm test`}, {"deny", "Bash", `bash > *`}, {"allow", "Bash(*)", `bash > *`},
		{"allow", "Read(docs/**)", `read > docs/*`}, {"allow", "Read(./docs/)", `read > docs/*`}, {"allow", "Edit(main.go)", `edit > main.go`}, {"allow", "Read(**)", `read > *`},
		{"deny", "Read(.env)", "read > */.env\nread > */.env/*\nread > .env\nread > .env/*"}, {"deny", "Edit(./.env)", "edit > .env\nedit > .env/*"},
		{"deny", "Write(secrets/**)", "edit > secrets/*"}, {"deny", "Read(**/*.pem)", "read > *.pem\nread > *.pem/*\nread > */*.pem\nread > */*.pem/*"},
		{"deny", "Edit(a/**/b)", "edit > a/*/b\nedit > a/*/b/*\nedit > a/b\nedit > a/b/*"},
		{"deny", "WebFetch", `webfetch`}, {"ask", "WebSearch", `websearch`},
		{"allow", "mcp__github__get_issue", `github_get_issue > *`}, {"deny", "mcp__github", `github_* > *`},
	} {
		rules, warnings := rulesOf(t, false, `{"`+c.list+`": ["`+c.rule+`"]}`)
		want := "permission > " + strings.ReplaceAll(c.want, "\n", ` = "`+c.list+"\"\npermission > ") + ` = "` + c.list + `"`
		assert.Equal(t, want, rules, c.list+" "+c.rule)
		assert.Empty(t, warnings)
	}
	for list, rules := range map[string][]string{
		"allow": {"WebFetch(domain:go.dev)", "Write(main.go)", "Read(src/*.ts)", "Read(~/notes)", "Read(//etc/hosts)", "Read(/a)", "Read(../a)", "Bash(* --help)", "Bash(a && b)", "mcp__github", "mcp__github__*", "Task", "Bash()", "Bash(a", "WebFetch(domain:*.go.dev)"},
		"deny":  {"Read(~/.ssh/**)", "Read(//etc/**)", "Bash(rm -?f *)", "Bash(a | b)", "Task(x)", "Read(a[bc])", "", "WebFetch(domain:)"},
	} {
		for _, rule := range rules {
			text, err := json.Marshal(map[string][]string{list: {rule, "WebSearch"}})
			assert.NoError(t, err)
			got, warnings := rulesOf(t, false, string(text))
			assert.Empty(t, got, "%s %s: nothing of a file is left out alone", list, rule)
			assert.Contains(t, warnings, "it cannot express", list+" "+rule)
		}
	}

	rules, warnings := rulesOf(t, true, `{"allow": ["Bash(go test:*)", "Read", "WebFetch(domain:go.dev)"], "deny": ["Bash(rm:*)"]}`)
	assert.Empty(t, warnings)
	assert.Equal(t, `+ permissions = {"action":"read","effect":"allow","resource":"*"}
+ permissions = {"action":"shell","effect":"allow","resource":"go test *"}
+ permissions = {"action":"shell","effect":"deny","resource":"rm*"}
+ permissions = {"action":"webfetch","effect":"allow","resource":"https://go.dev/*"}`, rules)
	rules, warnings = rulesOf(t, true, `{"deny": ["WebFetch(domain:evil.example)"]}`)
	assert.Empty(t, warnings)
	assert.Equal(t, `+ permissions = {"action":"webfetch","effect":"deny","resource":"*evil.example*"}`, rules)
}

// TestPermissionsOfOpencodeThatMeet: there the last matching rule wins; rules that contradict each other are omitted, whichever modules they come
// from.
func TestPermissionsOfOpencodeThatMeet(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		meet  bool
	}{
		"one file":          {[]string{`{"allow": ["Bash(git:*)"], "deny": ["Bash(git push:*)"]}`}, true},
		"two modules":       {[]string{`{"allow": ["Bash(git:*)"]}`, `{"deny": ["Bash(git push:*)"]}`}, true},
		"without arguments": {[]string{`{"deny": ["Bash(make)"]}`, `{"allow": ["Bash(make:*)"]}`}, true},
		"everything":        {[]string{`{"ask": ["Bash"]}`, `{"allow": ["Bash(ls)"]}`}, true},
		"a tool's server":   {[]string{`{"deny": ["mcp__a"]}`, `{"allow": ["mcp__a__b"]}`}, true},
		"a tool":            {[]string{`{"deny": ["WebFetch"]}`, `{"allow": ["WebFetch"]}`}, true},
		"endings":           {[]string{`{"allow": ["Read(a/**)"]}`, `{"deny": ["Read(*.pem)"]}`}, true},
		"the same":          {[]string{`{"deny": ["Bash(git:*)"]}`, `{"deny": ["Bash(git push:*)"]}`}, false},
		"others":            {[]string{`{"allow": ["Bash(git status:*)", "Bash(gitk:*)"], "deny": ["Bash(git push:*)", "Read(.env)"]}`}, false},
	} {
		_, warnings := rulesOf(t, false, c.files...)
		assert.Equal(t, c.meet, strings.Contains(warnings, "the last matching rule applies, not the strictest"), "%s: %s", name, warnings)
	}
}

// TestTheShapeOfOpencodesDocument: in a document of the newer shape, servers are written in its dialect, and translated back to the neutral
// description.
func TestTheShapeOfOpencodesDocument(t *testing.T) {
	for newest, want := range map[bool]string{
		false: `mcp > srv = {"command":["srv"],"enabled":false,"timeout":5000,"type":"local"}`,
		true:  `mcp > servers > srv = {"command":["srv"],"disabled":true,"timeout":{"catalog":5000,"execution":5000},"type":"local"}`,
	} {
		s := with([]target.Module{module("mcp:m", deployment.ModuleMCP, "srv.json", `{"command": "srv", "enabled": false, "timeout": 5000}`)}).set("opencode", deployment.ScopeProject)
		s.Has = func(_ string, _ deployment.Format, key []string) (bool, bool) {
			return newest, newest && strings.Join(key, "/") == "permissions"
		}
		k := s.render(t).Files[0].Part.Keys[0]
		assert.Equal(t, want, strings.Join(k.Path, " > ")+" = "+string(k.Value))
		back, err := target.InvertKey(s.Input, s.render(t).Files[0], k, json.RawMessage(strings.Replace(string(k.Value), `"srv"`, `"other"`, 1)))
		assert.NoError(t, err)
		assert.Equal(t, []deployment.Key{{Path: []string{"command"}, Value: json.RawMessage(`"other"`)}}, back.Set, "only what was changed leads back")
		assert.Empty(t, back.Remove)

		a, _ := target.FindAgent("opencode")
		l, err := a.Servers(target.ResolveContext{Place: s.Place, Paths: target.Paths{Sep: '/'}}, deployment.ScopeProject)
		assert.NoError(t, err)
		l = l.InDocument(func([]string) bool { return newest })
		value, err := target.ParseObject(k.Value)
		assert.NoError(t, err)
		described, err := l.Dialect.Described(value)
		assert.NoError(t, err)
		assert.Equal(t, target.Object{"command": "srv", "enabled": false, "timeout": json.Number("5000")}, described)
	}
}
