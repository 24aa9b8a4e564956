package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named is a command that a message names, with the words after it.
var named = regexp.MustCompile(`countersign((?: -{0,2}[a-z][a-z-]*)+)( [A-Z.(=]+)?`)

// TestHintsNameCommandsThatWorkNext: what the messages of frequent mistakes tell users to type, they can type at once, in the very place of the mistake; and each mistake is
// said once.
func TestHintsNameCommandsThatWorkNext(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	git := exec.Command("git", "init", "-q", p.repo)
	require.NoError(t, git.Run())
	tried := map[string]bool{}
	for _, mistake := range []string{"run hi", "run", "project show nope", "project list --jsn", "approve cf_nope", "deny cf_nope", "pack show nope", "pack add x.go:1", "workflow run nope",
		"workflow show nope", "action run nope", "template remove nope", "logs nope", "stop nope", "sandbox create nope x", "sandbox enter", "token revoke nope", "grants revoke nope",
		"tools call nope", "tools show run_scrip", "policy allow nope", "runs show nope", "notify test nope", "keys remove nope", "owners forget nope", "help nope", "nope"} {
		_, problems, code := p.run(strings.Fields(mistake)...)
		require.NotZero(t, code, mistake)
		assert.Equal(t, 1, strings.Count(problems, "error: "), "%s: %s", mistake, problems)
		assert.NotRegexp(t, `(?m)^(?:error|hint): *$`, problems, mistake)
		for _, m := range named.FindAllStringSubmatch(problems, -1) {
			if m[2] != "" { // a name is to be filled in
				continue
			}
			words, all := strings.Fields(m[1]), strings.Fields(m[1])
			for len(words) > 0 { // what follows the command is the sentence
				if _, _, code := p.run(append([]string{"help"}, words...)...); code == 0 {
					break
				}
				words = words[:len(words)-1]
			}
			line := strings.Join(words, " ")
			if len(words) == 0 || tried[line] || strings.Fields(mistake)[0] == words[0] && len(words) == 1 { // it is the command that was mistyped
				continue
			}
			tried[line] = true
			_, said, code := p.run(words...)
			if strings.Contains(said, "an argument is missing") && len(words) < len(all) { // it is the next word
				_, said, code = p.run(all[:len(words)+1]...)
			}
			assert.Zero(t, code, "%s: countersign %s: %s", mistake, line, said)
		}
	}
	assert.Greater(t, len(tried), 10, "%v", tried)
}
