package redact_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/redact"
)

// TestCommandsAreShown: what a shell would run is no secret, whatever the name before it says: whoever is asked has to see it. What it would
// not run stays masked.
func TestCommandsAreShown(t *testing.T) {
	r := redact.New(redact.Options{})
	for _, text := range []string{
		"TOKEN=`node evil.js` true", `token="$(node evil.js)"; echo $token`, "password=$(node<evil.js) true", "API_KEY=x;node evil.js", "PASSWORD='a'$(node${IFS}evil.js)abc true",
		"curl -H \"Authorization: Bearer `node evil.js`\" x", "echo a --token `node evil.js`", "--password=`cat x`", "curl -u a:`node${IFS}evil.js` x", "echo http://a:`node${IFS}evil.js`@b/",
		"echo http://a:$(node${IFS}evil.js)@b/", "TOKEN=`touch${IFS}/tmp/x` true", `curl -u "a:$(cat${IFS}x)" y`,
	} {
		masked, n := r.Text(text)
		assert.Equal(t, text, masked)
		assert.Zero(t, n)
	}
	for _, text := range []string{"TOKEN=abcdefgh12345678", "const token = `abcdefgh12345678`", "PASSWORD='abc`de`f12345'", "token: 'ab$(cd)12345678'", "--token `abcdefgh12345678`", "PASSWORD=p$ab12cd34ef"} {
		masked, _ := r.Text(text)
		assert.NotEqual(t, text, masked, text)
	}
}
