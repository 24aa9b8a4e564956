package forge_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/forge"
	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// TestASiteThatNobodyApprovedIsNotAsked: a repository's push URL leads a read to no site with the user's login.
func TestASiteThatNobodyApprovedIsNotAsked(t *testing.T) {
	bin := t.TempDir()
	asked := filepath.Join(bin, "asked")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "glab"), []byte("#!/bin/sh\n: >"+asked+"\necho '[]'\n"), 0o755))
	t.Setenv("PATH", bin)
	const approved, other = "https://gitlab.com/a/b", "https://gitlab.evil.example/a/b"
	ctx, refused := gitcli.Outreach{}.Guard(t.Context(), func(_ context.Context, url string) (bool, error) { return url == approved, nil })
	_, err := forge.Programs{}.Request(ctx, other, "main")
	require.ErrorIs(t, err, gitcli.ErrRemote)
	require.NoFileExists(t, asked)
	require.Equal(t, []string{other}, refused())
	_, err = forge.Programs{}.Request(ctx, approved, "main")
	require.NoError(t, err)
	require.FileExists(t, asked)
}

// scripted puts a program on the PATH that keeps what it is told, and where, and then does what the script says.
func scripted(t *testing.T, name, script string) (told func() string) {
	t.Helper()
	bin := t.TempDir()
	log := filepath.Join(bin, "told")
	require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n{ pwd; for a in \"$@\"; do printf '<%s>' \"$a\"; done; echo; [ \"$SAYS\" = \"\" ] || cat; } >>"+log+"\n"+script+"\n"), 0o755))
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	t.Setenv("SAYS", "all")
	return func() string {
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		return string(text)
	}
}

// TestAReleaseIsMadeOnceAndItsNotesAreNoArguments: one that is there is found; its notes go in by the standard input, and the program stands at the top of the file system.
func TestAReleaseIsMadeOnceAndItsNotesAreNoArguments(t *testing.T) {
	r := ecosystemport.ForgeRelease{Remote: "git@github.com:a/b.git", Tag: "v1.2.0-rc.1", Notes: "--draft\n$(touch ran)\n", PreRelease: true}
	told := scripted(t, "gh", `[ "$2" = view ] && exit 1; echo Creating; echo https://github.com/a/b/releases/tag/v1`)
	page, err := forge.Programs{}.Release(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, "https://github.com/a/b/releases/tag/v1", page)
	assert.Contains(t, told(), "/\n<release><create><v1.2.0-rc.1><--repo><github.com/a/b><--verify-tag><--title><v1.2.0-rc.1><--notes-file><-><--prerelease>\n--draft\n$(touch ran)\n")

	told = scripted(t, "gh", "echo https://github.com/a/b/releases/tag/there")
	page, err = forge.Programs{}.Release(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, "https://github.com/a/b/releases/tag/there", page)
	assert.NotContains(t, told(), "<create>")
}

// TestRequestsAreOpenedFoundAndEdited at both sites, in the words of each program.
func TestRequestsAreOpenedFoundAndEdited(t *testing.T) {
	for program, c := range map[string]struct{ remote, lists, state, create, edit string }{
		"gh":   {"https://github.com/a/b", `[{"url":"https://github.com/a/b/pull/7","state":"MERGED","body":"text"}]`, "merged", "<pr><create><--repo><github.com/a/b><--head><-x><--base><main><--title><T><--body-file><->\nwords", "<pr><edit><7><--repo><github.com/a/b><--body-file><->\nnew"},
		"glab": {"https://gitlab.com/a/b", `[{"web_url":"https://gitlab.com/a/b/-/merge_requests/7","state":"opened","description":"text"}]`, "open", "<mr><create><--yes><--repo><https://gitlab.com/a/b><--source-branch><-x><--target-branch><main><--title><T><--description><words>", "<mr><update><7><--repo><https://gitlab.com/a/b><--description><new>"},
	} {
		told := scripted(t, program, `if [ "$2" = list ]; then echo '`+c.lists+`'; else echo '`+c.remote+`/7'; fi`)
		ctx, _ := gitcli.Outreach{}.Guard(t.Context(), func(context.Context, string) (bool, error) { return true, nil })
		found, err := forge.Programs{}.Request(ctx, c.remote, "side")
		require.NoError(t, err)
		assert.Equal(t, []string{c.state, "text"}, []string{found.State, found.Text}, program)
		made, err := forge.Programs{}.Propose(t.Context(), ecosystemport.ForgeProposal{Remote: c.remote, Branch: "-x", Base: "main", Title: "T", Text: "words"})
		require.NoError(t, err)
		assert.Equal(t, c.remote+"/7", made.Page)
		require.NoError(t, forge.Programs{}.Edit(t.Context(), c.remote, made.Page, "new"))
		assert.Contains(t, told(), c.create)
		assert.Contains(t, told(), c.edit)
	}
}

// TestWhatAProgramSaysIsTold: its failure, an answer that cannot be read, a page that is no request's, and a site without a program.
func TestWhatAProgramSaysIsTold(t *testing.T) {
	scripted(t, "gh", "echo 'you are  not\nlogged in' >&2; exit 4")
	p := ecosystemport.ForgeProposal{Remote: "https://github.com/a/b", Branch: "x", Base: "main", Title: "T"}
	_, err := forge.Programs{}.Propose(t.Context(), p)
	require.ErrorIs(t, err, ecosystem.ErrForge)
	assert.Contains(t, err.Error(), "gh pr create failed: you are not logged in")
	require.ErrorIs(t, forge.Programs{}.Edit(t.Context(), p.Remote, "https://github.com/a/b/pull/7;x", ""), ecosystem.ErrForge)
	p.Remote = "https://git.example.com/a/b"
	_, err = forge.Programs{}.Propose(t.Context(), p)
	require.ErrorIs(t, err, ecosystem.ErrForge)
	program, err := forge.Programs{}.Program(p.Remote)
	require.NoError(t, err)
	assert.Empty(t, program)
	scripted(t, "gh", "echo nonsense")
	ctx, _ := gitcli.Outreach{}.Guard(t.Context(), func(context.Context, string) (bool, error) { return true, nil })
	_, err = forge.Programs{}.Request(ctx, "https://github.com/a/b", "x")
	require.ErrorIs(t, err, ecosystem.ErrForge)
	t.Setenv("PATH", t.TempDir())
	_, err = forge.Programs{}.Program("https://github.com/a/b")
	require.ErrorIs(t, err, ecosystem.ErrForge, "it is not installed")
}
