package agentserver

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
)

// numbers are the processes there are.
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
