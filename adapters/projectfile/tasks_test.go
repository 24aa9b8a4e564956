package projectfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/tasks"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// unpacked returns a new directory with the files of an archive; "NAME -> TARGET" is a link.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	dir := land(t)
	a, err := txtar.ParseFile(archive)
	require.NoError(t, err)
	for _, f := range a.Files {
		name, target, link := strings.Cut(f.Name, " -> ")
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if link {
			require.NoError(t, os.Symlink(target, at))
			continue
		}
		require.NoError(t, os.WriteFile(at, f.Data, 0o644))
	}
	return dir
}

// eachArchive runs a test over every archive of a directory below testdata, and compares what it says with the golden file beside it.
func eachArchive(t *testing.T, kind string, say func(t *testing.T, d projectport.Directories, dir string, f project.Facts) string) {
	archives, err := filepath.Glob("testdata/" + kind + "/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, d := unpacked(t, archive), open(t, machine{Home: "/nowhere"})
			f, err := d.Facts(t.Context(), dir)
			require.NoError(t, err)
			golden.Text(t, kind+"/"+name, say(t, d, dir, f))
		})
	}
}

// TestTasksAreReadOutOfTheirFiles: what can be run by its name, with what it runs as the file has it, and as a shell would be given it.
func TestTasksAreReadOutOfTheirFiles(t *testing.T) {
	eachArchive(t, "tasks", func(t *testing.T, d projectport.Directories, dir string, f project.Facts) string {
		list, err := d.Tasks(t.Context(), dir, f)
		require.NoError(t, err)
		var out strings.Builder
		for _, task := range list.Tasks {
			if task.Usual {
				fmt.Fprintf(&out, "%s (%s) usual %q\n", task.ID(), task.File, task.Argv)
				continue
			}
			task, err := list.Find(task.ID())
			require.NoError(t, err)
			fmt.Fprintf(&out, "%s (%s) %q\n", task.ID(), task.File, task.Argv)
			for _, part := range [][2]string{{"about", task.Description}, {"needs", strings.Join(task.Needs, " ")}, {"runs", task.Command}, {"shell", task.Shell}} {
				for _, line := range strings.Split(part[1], "\n") {
					if part[1] != "" && (part[0] != "shell" || task.Shell != task.Command) {
						fmt.Fprintf(&out, "  %-5s %s\n", part[0], line)
					}
				}
			}
			for _, need := range list.Needed(task) {
				fmt.Fprintf(&out, "  with  %s\n", need.Name)
			}
		}
		for _, note := range list.Notes {
			fmt.Fprintf(&out, "! %s\n", note)
		}
		return out.String()
	})
}

// TestWorkspacesAreReadOutOfTheirFiles: their members, which of them need which, and the order in which something runs in all of them.
func TestWorkspacesAreReadOutOfTheirFiles(t *testing.T) {
	eachArchive(t, "workspaces", func(t *testing.T, d projectport.Directories, dir string, f project.Facts) string {
		w, err := d.Workspace(t.Context(), dir, f)
		require.NoError(t, err)
		var out strings.Builder
		fmt.Fprintf(&out, "tools %v, monorepo of %s\n", w.Tools, f.MonorepoTool)
		for _, m := range w.Members {
			fmt.Fprintf(&out, "%s (%s %s) %v needs %v\n", m.Dir, m.Name, m.Version, m.Kinds, m.Needs)
		}
		ordered, circle := tasks.Ordered(w.Members)
		for _, m := range ordered {
			fmt.Fprintf(&out, " %s", m.Name)
		}
		fmt.Fprintf(&out, "\ncircle %v\n", circle)
		for _, note := range w.Notes {
			fmt.Fprintf(&out, "! %s\n", note)
		}
		return out.String()
	})
}

// TestProgramsAreNeverTheProjectsOwn unless the task names a file of its directory.
func TestProgramsAreNeverTheProjectsOwn(t *testing.T) {
	t.Parallel()
	top := land(t)
	for _, name := range []string{"bin/make", "project/bin/just", "project/sub/gradlew", "project/sub/plain"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, name), []byte("#!/bin/sh\n"), map[bool]os.FileMode{true: 0o644, false: 0o755}[strings.HasSuffix(name, "plain")]))
	}
	root, dir := filepath.Join(top, "project"), filepath.Join(top, "project/sub")
	d := open(t, machine{Home: "/nowhere", Env: []string{"PATH=" + filepath.Join(root, "bin") + ":" + filepath.Join(top, "bin")}})
	found, err := d.Program(t.Context(), root, dir, "make")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(top, "bin/make"), found)
	found, err = d.Program(t.Context(), root, dir, "./gradlew")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "gradlew"), found)
	for _, name := range []string{"just", "./plain", "./none"} {
		_, err = d.Program(t.Context(), root, dir, name)
		require.ErrorIs(t, err, project.ErrExecutionFailed, name)
	}
}
