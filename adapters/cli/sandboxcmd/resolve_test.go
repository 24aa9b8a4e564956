package sandboxcmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/cli/sandboxcmd"
	"github.com/countersign-dev/countersign/domain/fault"
)

// homes is two projects with directories, one below the other, reached over a link, and a tool that tells which of them a command is about.
func homes(t *testing.T) (s stage, root string, about func(words ...string) (string, error)) {
	root = t.TempDir()
	for _, dir := range []string{"a/repo", "a/worktrees/x", "a/worktrees/deep/repo", "ab", "registered/src"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "real", dir), 0o755))
	}
	require.NoError(t, os.Symlink(filepath.Join(root, "real"), filepath.Join(root, "link")))
	list := fmt.Sprintf(`{"status":"success","projects":[{"git_url":"ssh://git@h/o/deep","name":"o-deep","base_dir":%q},{"git_url":"ssh://git@h/o/a","name":"o-a","base_dir":%q},
		{"git_url":"file:///gone","name":"o-gone","base_dir":%q}]}`, filepath.Join(root, "real/a/worktrees/deep"), filepath.Join(root, "link/a"), filepath.Join(root, "gone"))
	asked := ""
	s = stage{answers: answers{"opencode_project_list": says(list),
		"list_projects": says(fmt.Sprintf(`{"projects":[{"path":%q}]}`, filepath.Join(root, "real/registered"))),
		"opencode_sandbox_delete": func(in input) (any, error) {
			asked = in.URL + " " + in.Name
			return struct{}{}, nil
		},
		"opencode_sandbox_list": func(in input) (any, error) {
			return map[string]any{"status": "success", "project": "p", "git_url": in.URL, "sandboxes": []map[string]any{{"name": "box-of-" + filepath.Base(in.URL), "branch": "b"}}}, nil
		}}}
	return s, root, func(words ...string) (string, error) {
		asked = ""
		err := s.run(t, append([]string{"rm"}, words...)...).err
		return asked, err
	}
}

func TestWhichProjectIsMeant(t *testing.T) {
	_, root, about := homes(t)
	for name, c := range map[string]struct {
		in    string // working directory, below root
		words []string
		want  string
	}{
		"by name":                          {"", []string{"o-a", "x"}, "ssh://git@h/o/a x"},
		"by name, in another case":         {"", []string{"O-A", "x"}, "ssh://git@h/o/a x"},
		"a URL in any spelling":            {"", []string{"git@H:o/a.git", "x"}, "git@H:o/a.git x"},
		"host and path":                    {"", []string{"h.example/o/a", "x"}, "h.example/o/a x"},
		"a URL, standing elsewhere":        {"real/a/repo", []string{"git@h:o/other", "x"}, "git@h:o/other x"},
		"in the clone":                     {"real/a/repo", []string{"x"}, "ssh://git@h/o/a x"},
		"in a sandbox":                     {"real/a/worktrees/x", []string{"x"}, "ssh://git@h/o/a x"},
		"over a link":                      {"link/a/worktrees/x", []string{"x"}, "ssh://git@h/o/a x"},
		"in the base directory itself":     {"real/a", []string{"x"}, "ssh://git@h/o/a x"},
		"the nearest of two":               {"real/a/worktrees/deep/repo", []string{"x"}, "ssh://git@h/o/deep x"},
		"a directory of the project":       {"", []string{"./real/a/repo", "x"}, "ssh://git@h/o/a x"},
		"the working directory, by a dot":  {"real/a/repo", []string{".", "x"}, "ssh://git@h/o/a x"},
		"in a registered project":          {"real/registered/src", []string{"x"}, filepath.Join(root, "real/registered") + " x"},
		"a path that belongs to none":      {"", []string{"./real/ab", "x"}, "./real/ab x"},
		"a path that is not there":         {"", []string{"/no/where", "x"}, "/no/where x"},
		"a name that looks like an option": {"real/a", []string{"--", "-x"}, "ssh://git@h/o/a -x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(root, c.in))
			got, err := about(c.words...)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestNoProjectIsMeant(t *testing.T) {
	_, root, about := homes(t)
	t.Chdir(filepath.Join(root, "real/ab")) // its name begins like that of a project's directory
	_, err := about("x")
	assert.ErrorIs(t, err, sandboxcmd.ErrNowhere)
	assert.Contains(t, fault.From(err).Details, "countersign sandbox create . NAME")
	_, err = about("o-nothing", "x")
	assert.ErrorIs(t, err, sandboxcmd.ErrUnknown)
	assert.NotContains(t, fault.From(err).Details, "did you mean")
	_, err = about("Deep", "x")
	assert.Contains(t, fault.From(err).Details, "did you mean o-deep? ", "the name without its owner")
	_, err = about()
	assert.ErrorIs(t, err, sandboxcmd.ErrNowhere, "a sandbox is named by the directory that one stands in, or not at all")
}

func TestCompletion(t *testing.T) {
	s, root, _ := homes(t)
	t.Chdir(root)
	complete := func(words ...string) string { return s.run(t, append([]string{"__complete"}, words...)...).out }
	assert.Contains(t, complete("stop", ""), "o-deep\tssh://git@h/o/deep\no-a\t")
	assert.NotContains(t, complete("stop", "o-d"), "o-a")
	assert.Contains(t, complete("stop", "./"), ":16\n", "a path is the shell's")
	assert.NotContains(t, complete("stop", "o-a", ""), "o-")
	assert.Contains(t, complete("rm", ""), "o-a\t")
	assert.NotContains(t, complete("rm", ""), "box-of")
	assert.Contains(t, complete("rm", "o-deep", ""), "box-of-deep\tb\n")
	assert.Contains(t, complete("enter", "h.example/o/c", "box"), "box-of-c\tb\n")
	t.Chdir(filepath.Join(root, "real/a/repo"))
	assert.Contains(t, complete("reset", "b"), "box-of-a\tb\n", "standing in a project, its sandboxes come first")
	s.answers["opencode_project_list"] = fails(fault.New(fault.Conflict, "sandbox_state_damaged", "broken"))
	got := s.run(t, "__complete", "rm", "")
	require.NoError(t, got.err)
	assert.NotContains(t, got.out+got.problems, "broken", "a completion that fails says nothing")
}
