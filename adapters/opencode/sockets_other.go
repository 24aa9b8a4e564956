//go:build !linux

package opencode

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// ps returns the process table as lines of fields, of which the last one has all the rest.
func ps(ctx context.Context, columns string, fields int) ([][]string, error) {
	out, err := exec.CommandContext(ctx, "/bin/ps", "-ax", "-o", columns).Output()
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		if row := strings.Fields(line); len(row) >= fields {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func processes() ([]relative, error) {
	rows, err := ps(context.Background(), "pid=,ppid=,rss=", 3)
	if err != nil {
		return nil, err
	}
	all := make([]relative, 0, len(rows))
	for _, row := range rows {
		var p relative
		p.pid, _ = strconv.Atoi(row[0])
		p.parent, _ = strconv.Atoi(row[1])
		kib, _ := strconv.ParseInt(row[2], 10, 64)
		p.resident = kib << 10
		all = append(all, p)
	}
	return all, nil
}

// listeners tells which processes listen on the port; told is false where lsof is missing.
func listeners(ctx context.Context, port int) (listening func(pid int) bool, told bool) {
	out, err := exec.CommandContext(ctx, "lsof", "-nP", "-a", "-iTCP:"+strconv.Itoa(port), "-sTCP:LISTEN", "-Fp").Output()
	var nobody *exec.ExitError
	if err != nil && !errors.As(err, &nobody) {
		return nil, false
	}
	return func(pid int) bool { return slices.Contains(strings.Fields(string(out)), "p"+strconv.Itoa(pid)) }, true
}

// candidates cannot be told from servers of ours here, because the system shows nobody's environment: the caller knows those by their numbers.
func candidates(ctx context.Context) ([]candidate, error) {
	rows, err := ps(ctx, "pid=,command=", 2)
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, row := range rows {
		pid, err := strconv.Atoi(row[0])
		if err != nil || !isServer(row[1:]) {
			continue
		}
		out, err := exec.CommandContext(ctx, "lsof", "-a", "-p", row[0], "-d", "cwd", "-Fn").Output()
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(out)) {
			if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "n"); ok {
				found = append(found, candidate{pid: pid, argv: row[1:], dir: dir})
			}
		}
	}
	return found, nil
}
