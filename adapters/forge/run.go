package forge

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

const (
	patience = 2 * time.Minute
	maxSaid  = 400 // bytes of what a program says that an error repeats
)

// find returns where a program is.
func find(program string) (string, error) {
	found, err := exec.LookPath(program)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		login := map[string]string{gh: "gh auth login", glab: "glab auth login"}[program]
		return "", ecosystem.ErrForge.WithMessage("%s is not installed; install it and log in (%s), or do this part by hand", program, login).WithCause(err)
	}
	return found, nil
}

// run starts a program and returns what it prints.
func run(ctx context.Context, program, input string, args ...string) (string, error) {
	found, err := find(program)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, found, args...)
	cmd.Dir, cmd.WaitDelay = string(filepath.Separator), time.Second
	cmd.Env = append(os.Environ(), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_PROMPT=1", "GLAB_CHECK_UPDATE=false", "NO_COLOR=1", "CLICOLOR=0", "GH_PAGER=", "PAGER=")
	cmd.Stdin = strings.NewReader(input)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		words := strings.Join(strings.Fields(strings.ToValidUTF8(said.String()+" "+out.String(), "\uFFFD")), " ")
		if len(words) > maxSaid {
			words = strings.ToValidUTF8(words[:maxSaid], "") + "…"
		}
		if words == "" {
			words = err.Error()
		}
		return out.String(), ecosystem.ErrForge.WithMessage("%s %s %s failed: %s", program, args[0], args[1], words).WithCause(err)
	}
	return out.String(), nil
}
