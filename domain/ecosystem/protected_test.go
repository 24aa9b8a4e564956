package ecosystem_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

func TestWhatIsAlwaysProtected(t *testing.T) {
	rules := ecosystem.NewProtectedRules(nil)
	for name, want := range map[string]string{
		".env": ".env", "api/.env": ".env", ".env.local": ".env.*", "deep/er/.env.production": ".env.*", ".ENV": ".env", "Server.KEY": "*.key",
		"secrets/a": "secrets/", "api/secrets/b/c": "secrets/", "credentials/x": "credentials/", "secrets/": "secrets/",
		"tls/ca.pem": "*.pem", "a.key": "*.key", "id_rsa": "id_rsa", "home/.ssh/config": ".ssh/", "id_ed25519": "id_ed25519",
		".git/config": ".git", "sub/.git": ".git", "./.env": ".env", "a//.env": ".env", "ID_RSA": "id_rsa",
	} {
		pattern, ok := rules.Match(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, pattern, name)
	}
	for _, name := range []string{"", "/", "main.go", ".envrc", "environment", "secrets", "credentials", "id_rsa.pub", ".gitignore", "key", "a.keys", "monkey", "secretservice/x", ".github/x"} {
		_, ok := rules.Match(name)
		assert.False(t, ok, name)
	}
}

func TestPatternsOfTheManifest(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"vault", []string{"vault", "a/vault", "vault/x", "a/vault/b/c"}, []string{"vaults", "a/vault2"}},
		{"vault/", []string{"vault/x", "a/vault/x", "vault/"}, []string{"vault", "a/vault"}},
		{"/vault", []string{"vault", "vault/x"}, []string{"a/vault"}},
		{"ops/vault", []string{"ops/vault", "ops/vault/x"}, []string{"a/ops/vault"}},
		{"**/vault", []string{"vault", "a/b/vault", "a/vault/x"}, []string{"vault1"}},
		{"vault/**", []string{"vault/x", "vault/a/b"}, []string{"vault", "a/vault/x"}},
		{"a/**/z", []string{"a/z", "a/b/z", "a/b/c/z", "a/b/z/q"}, []string{"b/a/z", "a/b"}},
		{"**/credentials2/**", []string{"credentials2/a", "x/credentials2/a/b"}, []string{"credentials2"}},
		{"*.p12", []string{"a.p12", "b/a.p12", "a.p12/x"}, []string{"a.p123"}},
		{"conf/*.yml", []string{"conf/a.yml"}, []string{"conf/b/a.yml", "x/conf/a.yml"}},
		{"k[0-9]", []string{"k1", "x/k9"}, []string{"kx", "k10"}},
		{"k[!0-9]", []string{"kx"}, []string{"k1"}},
		{"k?", []string{"k1"}, []string{"k", "k12"}},
		{`\!bang`, []string{"!bang"}, []string{"bang"}},
		{"[", []string{"[", "x/["}, []string{"a"}},
		{"**", []string{"a", "a/b"}, []string{""}},
		{"Upper", []string{"Upper"}, []string{"upper"}},
		{"", nil, []string{"a"}},
		{"/", nil, []string{"a"}},
	} {
		rules := ecosystem.NewProtectedRules([]string{c.pattern})
		for _, name := range c.yes {
			_, ok := rules.Match(name)
			assert.True(t, ok, "%s has %s", c.pattern, name)
		}
		for _, name := range c.no {
			_, ok := rules.Match(name)
			assert.False(t, ok, "%s has not %s", c.pattern, name)
		}
	}
}

func TestLettingGo(t *testing.T) {
	rules := ecosystem.NewProtectedRules([]string{"*.json", "!package.json", "!.env"})
	assert.Equal(t, []ecosystem.ProtectedPath{{Path: "keys.json", Pattern: "*.json"}, {Path: ".env", Pattern: ".env"}}, rules.Find([]string{"keys.json", "web/package.json", ".env", "main.go"}))
	_, ok := ecosystem.NewProtectedRules([]string{"!a.json", "*.json"}).Match("a.json")
	assert.True(t, ok, "the last pattern counts")
}

// TestManyStarsTakeNoTime: matching goes back to one place only.
func TestManyStarsTakeNoTime(t *testing.T) {
	rules := ecosystem.NewProtectedRules([]string{strings.Repeat("**/a/", 200) + "z", strings.Repeat("*a", 200) + "z"})
	_, ok := rules.Match(strings.Repeat("a/", 400) + strings.Repeat("a", 400))
	assert.False(t, ok)
}

func FuzzMatch(f *testing.F) {
	f.Add("**/x/*.[a-z]", "a/x/b.c")
	f.Add("!a/", ".env")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		rules := ecosystem.NewProtectedRules([]string{pattern})
		_, ok := rules.Match(name)
		_, always := ecosystem.NewProtectedRules(nil).Match(name)
		assert.False(t, always && !ok, "no manifest lets go what is always protected")
		if ok && !strings.HasPrefix(strings.TrimSpace(pattern), "!") && !strings.HasSuffix(name, "/") && strings.Trim(name, "/.") != "" {
			_, below := rules.Match(name + "/x")
			assert.True(t, below, "what is below something protected is protected")
		}
	})
}
