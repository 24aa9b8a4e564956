package ecosystem_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

func TestDependsOn(t *testing.T) {
	t.Parallel()
	read := func(api, web, lib []any) ecosystem.ManifestResult {
		repos := []any{map[string]any{"url": "x"}}
		for _, one := range []struct {
			name  string
			after []any
		}{{"api", api}, {"web", web}, {"lib", lib}} {
			repos = append(repos, map[string]any{"name": one.name, "url": "git@h:o/" + one.name + ".git", "branch": "main", "depends_on": one.after})
		}
		return ecosystem.ReadManifest("demo", map[string]any{"name": "demo", "repos": repos})
	}
	r := read([]any{"lib"}, []any{"api"}, nil)
	require.Len(t, r.Errors, 1, "the one without a name")
	assert.Equal(t, []string{"lib", "api", "web"}, ecosystem.RepoNames(ecosystem.InOrder(r.Manifest.Repos)))
	assert.Equal(t, []string{"api", "web"}, ecosystem.RepoNames(ecosystem.InOrder(r.Manifest.Repos[:2])), "what is not among them is not waited for")
	assert.Equal(t, []string{"api", "web", "lib"}, ecosystem.RepoNames(ecosystem.InOrder(read(nil, nil, nil).Manifest.Repos)))
	for what, bad := range map[string]ecosystem.ManifestResult{"itself": read([]any{"api"}, nil, nil), "nobody": read([]any{"nope"}, nil, nil), "a circle": read([]any{"web"}, []any{"lib"}, []any{"api"})} {
		assert.Len(t, bad.Errors, 2, what)
	}
}
