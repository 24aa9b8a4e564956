package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// engine returns the program that runs containers.
func engine() (string, error) {
	for _, name := range []string{"docker", "podman"} {
		program, err := exec.LookPath(name)
		if err == nil {
			if program, err = filepath.Abs(program); err == nil {
				return program, nil
			}
		}
	}
	return "", sandbox.ErrIsolation.WithMessage("docker and podman are not on the PATH; install one of them, or use landlock or bubblewrap")
}

// container returns the beginning of a command that runs what follows it in a container of its own.
func container(word, git, dir, notes string, variables []string) ([]string, error) {
	program, err := engine()
	if err != nil {
		return nil, err
	}
	_, noNetwork, err := sandbox.ParseIsolation(word)
	if err != nil {
		return nil, err
	}
	out := []string{program, "run", "--rm", "--init", "--interactive", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid())}
	if filepath.Base(program) == "podman" {
		out = append(out, "--userns", "keep-id")
	}
	if noNetwork {
		out = append(out, "--network", "none")
	}
	out = append(out, "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777")
	mounts := []string{git, notes, dir}
	for _, one := range []string{"objects", "refs", "logs"} {
		if info, err := os.Stat(filepath.Join(git, one)); err == nil && info.IsDir() {
			mounts = append(mounts, filepath.Join(git, one))
		}
	}
	for _, one := range mounts {
		if strings.ContainsAny(one, ",\"\n") {
			return nil, sandbox.ErrIsolation.WithMessage("%q cannot be mounted into a container, because it contains a comma or a quotation mark; use landlock or bubblewrap", one)
		}
		mount := "type=bind,source=" + one + ",target=" + one
		if one == git {
			mount += ",readonly"
		}
		out = append(out, "--mount", mount)
	}
	out = append(out, "--env", "HOME=/tmp", "--env", "TMPDIR=/tmp")
	for _, name := range slices.Sorted(slices.Values(variables)) {
		if !hosts(name) {
			out = append(out, "--env", name)
		}
	}
	return append(out, "--workdir", dir, sandbox.IsolationImage(word)), nil
}

// hosts reports a variable that speaks of this machine, and means nothing in a container.
func hosts(name string) bool {
	return slices.Contains([]string{"HOME", "PATH", "TMPDIR", "SHELL", "USER", "LOGNAME", "PWD", "OLDPWD", "SSH_AUTH_SOCK"}, name) || strings.HasPrefix(name, "XDG_")
}

// inside returns a command as the container finds it: programs of this machine are looked for by their name there, the sandbox's own and the shell by their path.
func inside(dir string, argv []string) []string {
	argv = slices.Clone(argv)
	if program := argv[0]; filepath.IsAbs(program) && program != "/bin/sh" && !strings.HasPrefix(program, dir+string(filepath.Separator)) {
		argv[0] = filepath.Base(program)
	}
	return argv
}

// Begins is sandboxport.Isolator.
func (i *Isolator) Begins(word, repo, dir string, variables []string) ([]string, error) {
	kind, _, err := sandbox.ParseIsolation(word)
	if err != nil || kind != sandbox.IsolationContainer {
		return nil, err
	}
	git := filepath.Join(repo, ".git")
	notes, err := notesOf(git, dir)
	if err != nil { // it is still to be made
		notes = filepath.Join(git, "worktrees", filepath.Base(dir))
	}
	return container(word, git, dir, notes, variables)
}
