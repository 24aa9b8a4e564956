package deployment_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

func TestParseSource(t *testing.T) {
	git := func(url, ref, subdir string, shallow bool) deployment.Source {
		return deployment.Source{Git: &deployment.GitSource{URL: url, Ref: ref, Subdir: subdir, Shallow: shallow}}
	}
	for spec, want := range map[string]deployment.Source{
		"local:modules/x":                  {Local: "modules/x"},
		" local:./modules//x/ ":            {Local: "modules/x"},
		`local:modules\x`:                  {Local: "modules/x"},
		"local:.":                          {Local: "."},
		"git:https://h/o/r.git":            git("https://h/o/r.git", "main", "", true),
		"git:git@h:o/r#ref=v1&subdir=a/b/": git("git@h:o/r", "v1", "a/b", true),
		"git:u#ref=&subdir=":               git("u", "main", "", true),
		"git:u#shallow=1&subdir=.":         git("u", "main", "", true),
		"git:u#shallow=true":               git("u", "main", "", true),
		"git:u#shallow=no":                 git("u", "main", "", false),
		"git:u#shallow=":                   git("u", "main", "", false),
		"git:u#ref=a=b":                    git("u", "a=b", "", true),
	} {
		got, err := deployment.ParseSource(spec)
		if assert.NoError(t, err, spec) {
			assert.Equal(t, want, got, spec)
		}
	}
	for _, spec := range []string{"", "modules/x", "http://h/x", "local:", "local:/x", "local:../x", "local:a/../../x", "git:", "git: ", "git:#ref=x", "git:u#",
		"git:u#ref", "git:u#ref=x&", "git:u#branch=x", "git:u#subdir=../x", "git:u#subdir=/x", "Local:x"} {
		_, err := deployment.ParseSource(spec)
		assert.ErrorIs(t, err, deployment.ErrConfig, spec)
	}
}

func TestSpecName(t *testing.T) {
	for spec, want := range map[string]string{
		"local:modules/prompts/draft.pr.md": "draft.pr", "local:modules/my.skill": "my", "local:x": "x", "local:.hidden": ".hidden",
		"git:https://h/o/tools.git": "tools", "git:git@h:tools": "tools", "git:https://h/o/tools/": "tools", "git:u/tools.git#subdir=skills/review.v2": "review.v2",
	} {
		source, err := deployment.ParseSource(spec)
		require.NoError(t, err, spec)
		assert.Equal(t, want, source.SpecName(), spec)
	}
}

// FuzzParseSource: for any input, a source stays in its repository and is parsed again as itself.
func FuzzParseSource(f *testing.F) {
	for _, spec := range []string{"local:modules/x", "local:../x", "git:u#ref=v&subdir=a/b&shallow=0", "git:https://h/o/r.git", "git:u#subdir=a\\..\\b"} {
		f.Add(spec)
	}
	inside := func(p string) bool {
		return p == path.Clean(p) && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../")
	}
	f.Fuzz(func(t *testing.T, spec string) {
		source, err := deployment.ParseSource(spec)
		if err != nil {
			require.ErrorIs(t, err, deployment.ErrConfig)
			return
		}
		again := "local:" + source.Local
		if g := source.Git; g != nil {
			again = "git:" + g.URL + "#ref=" + g.Ref + "&subdir=" + g.Subdir
			if !g.Shallow {
				again += "&shallow=false"
			}
			require.True(t, g.Subdir == "" || inside(g.Subdir), "%q", g.Subdir)
		} else {
			require.True(t, inside(source.Local), "%q", source.Local)
		}
		same, err := deployment.ParseSource(again)
		require.NoError(t, err, "%q", again)
		require.Equal(t, source, same)
		source.SpecName()
	})
}

// TestParseRepository: what users type for a repository, and what is not one.
func TestParseRepository(t *testing.T) {
	git := func(url, ref, subdir string) deployment.GitSource {
		return deployment.GitSource{URL: url, Ref: ref, Subdir: subdir, Shallow: true}
	}
	for spec, want := range map[string]deployment.GitSource{
		"o/r":                                  git("https://github.com/o/r.git", "", ""),
		" o/r.git@v1 ":                         git("https://github.com/o/r.git", "v1", ""),
		"o/r/skills/x@feature/y":               git("https://github.com/o/r.git", "feature/y", "skills/x"),
		"o/r/":                                 git("https://github.com/o/r.git", "", ""),
		"https://github.com/o/r":               git("https://github.com/o/r", "", ""),
		"https://github.com/o/r/tree/main/a/b": git("https://github.com/o/r.git", "main", "a/b"),
		"https://h/o/r.git":                    git("https://h/o/r.git", "", ""),
		"https://h/o/r.git#ref=v2&subdir=a":    git("https://h/o/r.git", "v2", "a"),
		"git@h:o/r":                            git("git@h:o/r", "", ""),
		"git:https://h/o/r":                    git("https://h/o/r", "", ""),
		"file:///srv/r":                        git("file:///srv/r", "", ""),
		"/srv/r#subdir=a":                      git("/srv/r", "", "a"),
	} {
		got, err := deployment.ParseRepository(spec)
		if assert.NoError(t, err, spec) {
			assert.Equal(t, want, got, spec)
		}
	}
	for _, spec := range []string{"", " ", "git:", "o/r/../../x", "o/r@", "u#subdir=../x", "#ref=x", "no repository", "skill"} {
		got, err := deployment.ParseRepository(spec)
		assert.ErrorIs(t, err, deployment.ErrConfig, "%s %v", spec, got)
	}
}

// TestRefChanged: the ref that a module was locked for is known from locks that record it, and from commits.
func TestRefChanged(t *testing.T) {
	commit, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	module := func(ref string) deployment.Module {
		return deployment.Module{ID: "m", Source: deployment.Source{Git: &deployment.GitSource{URL: "u", Ref: ref}}}
	}
	lock := &deployment.Lock{Modules: []deployment.LockedModule{{ID: "m", Source: deployment.ResolvedSource{Git: &deployment.ResolvedGit{URL: "u", Commit: commit}}}}}
	for _, c := range []struct {
		refs    map[string]string
		ref     string
		changed bool
	}{{nil, "main", false}, {nil, "v1", false}, {nil, commit, false}, {nil, strings.ToUpper(commit), false}, {nil, other, true},
		{map[string]string{"m": "main"}, "main", false}, {map[string]string{"m": "main"}, "v1", true}, {map[string]string{"m": "main"}, commit, false}} {
		lock.Refs = c.refs
		_, changed := lock.RefChanged(module(c.ref))
		assert.Equal(t, c.changed, changed, "%v", c)
	}
	_, changed := (*deployment.Lock)(nil).RefChanged(module(other))
	assert.False(t, changed)
}
