package releases_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// ghProgram is a gh for repositories on "GitHub", which are bare ones on this disk: it keeps their releases beside them, and refuses a tag that is not there.
const ghProgram = `#!/bin/sh
[ "$1" = release ] && [ "$4" = --repo ] || exit 9
verb=$2 tag=$3 repo=${5#github.com}
[ "$PWD" = / ] || exit 8
[ -e "$repo.broken" ] && { echo "HTTP 502" >&2; exit 1; }
case $verb in
view) [ -e "$repo.gh/$tag" ] || exit 1 ;;
create) git --git-dir="$repo.git" rev-parse -q --verify "refs/tags/$tag" >&2 || exit 1
	mkdir -p "$repo.gh"; [ -e "$repo.gh/$tag" ] && exit 7
	{ echo "$*"; cat; } >"$repo.gh/$tag.new"; mv "$repo.gh/$tag.new" "$repo.gh/$tag" ;;
esac
echo "https://github.com$repo/releases/tag/$tag"
`

// withGH puts that gh before all others.
func withGH() (remove func(), err error) {
	bin, err := os.MkdirTemp("", "gh")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(ghProgram), 0o755); err != nil {
		return nil, err
	}
	return func() { _ = os.RemoveAll(bin) }, os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// onGitHub has every origin be on GitHub, where it is a file, but that of one repository, which is on GitLab.
type onGitHub struct {
	ecosystemport.ReleaseGit
	but string
}

func (g onGitHub) Origin(ctx context.Context, dir, branch string, most int) (ecosystemport.ReleaseOrigin, error) {
	o, err := g.ReleaseGit.Origin(ctx, dir, branch, most)
	host := "https://github.com"
	if g.but != "" && filepath.Base(dir) == g.but {
		host = "https://gitlab.example.com"
	}
	o.URL = host + o.URL
	return o, err
}

// github has the origins be on GitHub from now on, but that of one repository if it names one, in children too.
func (r *rig) github(but string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.home, "github"), []byte(but), 0o600))
	r.deps = depsOf(r.root.Dir, r.home, r.clock)
	r.open()
}

// published returns what a release on GitHub says; empty where there is none.
func (r *rig) published(name, tag string) string {
	doc, _ := os.ReadFile(strings.TrimSuffix(r.origins[name].Remote, ".git") + ".gh/" + tag)
	return string(doc)
}

// TestReleasesOnGitHub are planned with their notes, made once the tags are there, and made by the next push where they were not.
func TestReleasesOnGitHub(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	o := r.call(bump, "plan", args{"bump_type": "patch", "push": true, "github": true})
	require.ErrorIs(t, o.Err, ecosystem.ErrForge)
	assert.Contains(t, o.Err.Error(), "no origin is on GitHub (api, web)")
	r.github("")
	require.ErrorIs(t, r.call(bump, "plan", args{"bump_type": "patch", "github": true}).Err, ecosystem.ErrForge, "without a push there is no tag")
	shown := object(t, r.call(bump, "plan", args{"bump_type": "patch", "push": true, "github": true}).Value)["preview"].(args)["github_releases"].([]any)
	require.Len(t, shown, 2)
	assert.Equal(t, "- fix: carriage returns\n- feat: first", shown[0].(args)["notes"])

	out := r.released(bump, args{"bump_type": "patch", "push": true, "github": true})
	pages := out["github_releases"].([]any)
	assert.True(t, strings.HasSuffix(pages[1].(args)["url"].(string), "/releases/tag/v0.0.1"))
	assert.Contains(t, r.published("web", "v0.0.1"), "--title v0.0.1 --notes-file -\n- fix: carriage returns\n- feat: first")

	broken := strings.TrimSuffix(r.origins["web"].Remote, ".git") + ".broken"
	require.NoError(t, os.WriteFile(broken, nil, 0o600))
	done := r.do(bump, args{"bump_type": "minor", "pre_release": "rc", "push": true, "github": true})
	assert.Equal(t, ecosystem.RunFailed, done.Status)
	assert.Contains(t, done.Error, "everything is pushed, but 1 release on GitHub could not be made (web): gh release create failed: HTTP 502")
	assert.Contains(t, r.published("api", "v0.1.0-rc.1"), "--prerelease")
	assert.Equal(t, []any{"web v0.1.0-rc.1"}, r.ask(status, nil)["missing_github_releases"])
	require.NoError(t, os.Remove(broken))
	shown = object(t, r.call(promote, "plan", args{"push": true}).Value)["preview"].(args)["github_releases"].([]any)
	assert.Equal(t, "web", shown[0].(args)["repo"], "the plan says so")
	r.released(promote, args{"push": true})
	assert.Contains(t, r.published("web", "v0.1.0-rc.1"), "--prerelease", "the next push makes what is missing")
	assert.Nil(t, r.ask(status, nil)["missing_github_releases"])
	assert.Empty(t, r.published("web", "v0.1.0"), "nobody asked for that one")
}

// TestReleasesOnGitHubAndElsewhere: those on GitHub are made; the plan and the result name the others, with the page for them. glab is not needed for that.
func TestReleasesOnGitHubAndElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.github("web")
	wanted := args{"bump_type": "patch", "push": true, "github": true}
	plan := object(t, r.call(bump, "plan", wanted).Value)
	preview := plan["preview"].(args)
	require.Len(t, preview["github_releases"], 1)
	page := "https://gitlab.example.com" + strings.TrimSuffix(r.origins["web"].Remote, ".git") + "/-/releases/new?tag_name=v0.0.1"
	others := []any{args{"repo": "web", "tag": "v0.0.1", "url": page}}
	assert.Equal(t, others, preview["not_on_github"])
	assert.Contains(t, preview["notes"], "no release is made for what is not on GitHub; the run says where it can be made by hand")
	out := r.released(bump, wanted)
	assert.Len(t, out["github_releases"], 1)
	assert.Equal(t, others, out["not_on_github"])
	assert.NotEmpty(t, r.published("api", "v0.0.1"))
	assert.Empty(t, r.published("web", "v0.0.1"))
	assert.Nil(t, r.ask(status, nil)["missing_github_releases"], "nothing is owed")
}

// TestKilledOnTheWayToGitHub: whatever step a release is killed at behind its last tag, the next push makes each release on GitHub, once.
func TestKilledOnTheWayToGitHub(t *testing.T) {
	t.Parallel()
	r := newRig(t, "api", "web")
	r.github("")
	id := r.queued(bump, args{"bump_type": "patch", "push": true, "github": true})
	steps := 12 // the last tag is there, and the record
	for killed := true; killed; steps += 7 {
		if killed = r.doom(steps); killed {
			r.drain(id)
			require.False(t, r.noted())
			id = r.queued(bump, args{"bump_type": "patch", "push": true, "github": true})
		}
	}
	require.Greater(t, steps, 30)
	for name := range r.origins {
		for tag := range strings.Lines(r.tags(name)) {
			assert.NotEmpty(t, r.published(name, strings.TrimSpace(tag)), "%s %s", name, tag)
		}
	}
}
