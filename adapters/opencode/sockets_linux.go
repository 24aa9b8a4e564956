package opencode

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// numbers returns the processes there are.
func numbers() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

func file(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// processes reads /proc/PID/stat. Its second field, the program's name, may hold anything, so fields are counted from its last parenthesis.
func processes() ([]relative, error) {
	pids, err := numbers()
	if err != nil {
		return nil, err
	}
	page := int64(os.Getpagesize())
	all := make([]relative, 0, len(pids))
	for _, pid := range pids {
		stat, err := os.ReadFile(file(pid, "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		const parent, resident = 1, 21 // fields 4 and 24
		if len(fields) <= resident {
			continue
		}
		p := relative{pid: pid}
		p.parent, _ = strconv.Atoi(fields[parent])
		pages, _ := strconv.ParseInt(fields[resident], 10, 64)
		p.resident = pages * page
		all = append(all, p)
	}
	return all, nil
}

// listeners tells which processes listen on the port, by the numbers of the sockets that do; told is false where the system does not say.
func listeners(_ context.Context, port int) (listening func(pid int) bool, told bool) {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		told = told || err == nil
		for line := range strings.Lines(string(text)) {
			const local, state, inode, listen = 1, 3, 9, "0A"
			fields := strings.Fields(line)
			if len(fields) > inode && fields[state] == listen && strings.HasSuffix(fields[local], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+fields[inode]+"]"] = true
			}
		}
	}
	return func(pid int) bool {
		dir := file(pid, "fd")
		entries, _ := os.ReadDir(dir) // it may have ended
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			target, err := os.Readlink(dir + "/" + e.Name())
			return err == nil && sockets[target]
		})
	}, told
}

func candidates(ctx context.Context) ([]candidate, error) {
	pids, err := numbers()
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := os.ReadFile(file(pid, "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		argv := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if !isServer(argv) || marked(pid) {
			continue
		}
		if dir, err := os.Readlink(file(pid, "cwd")); err == nil {
			found = append(found, candidate{pid: pid, argv: argv, dir: dir})
		}
	}
	return found, nil
}

func marked(pid int) bool {
	env, err := os.ReadFile(file(pid, "environ"))
	return err == nil && (bytes.HasPrefix(env, []byte(markName+"=")) || bytes.Contains(env, []byte("\x00"+markName+"=")))
}
