package opencode

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/redact"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Sockets is a sandboxport.Sockets over this machine. The zero Sockets is usable.
type Sockets struct{}

// Free is sandboxport.Sockets: it tries.
func (Sockets) Free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// Serves is sandboxport.Sockets.
func (Sockets) Serves(ctx context.Context, pid, port int) bool {
	listening, told := listeners(ctx, port)
	if !told {
		return true
	}
	all, err := processes()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(family(pid, all), listening)
}

// family returns the process and its descendants.
func family(pid int, all []relative) []int {
	children := map[int][]int{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	members := []int{pid}
	for i := 0; i < len(members); i++ {
		members = append(members, children[members[i]]...)
	}
	return members
}

// ResidentMB is sandboxport.Sockets. It fails with process.ErrNotFound for a process that is not there. Memory that processes share is counted
// for each of them.
func (Sockets) ResidentMB(pid int) (int, error) {
	all, err := processes()
	if err != nil {
		return 0, err
	}
	resident := map[int]int64{}
	for _, p := range all {
		resident[p.pid] = p.resident
	}
	if _, there := resident[pid]; !there {
		return 0, process.ErrNotFound.WithMessage("process %d not found", pid)
	}
	var sum int64
	for _, member := range family(pid, all) {
		sum += resident[member]
	}
	return int(sum >> 20), nil
}

// Foreign is sandboxport.Sockets: processes "opencode serve" and "opencode web" that run in or below one of the directories and do not carry the
// mark of what this product starts. What the system does not show is left out.
func (Sockets) Foreign(ctx context.Context, dirs []string) ([]sandboxport.ForeignServer, error) {
	resolved := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			resolved = append(resolved, real)
		}
	}
	if len(resolved) == 0 {
		return nil, ctx.Err()
	}
	found, err := candidates(ctx)
	if err != nil {
		return nil, err
	}
	redactor := redact.New(redact.Options{})
	var servers []sandboxport.ForeignServer
	for _, c := range found {
		if !slices.ContainsFunc(resolved, func(dir string) bool { return c.dir == dir || strings.HasPrefix(c.dir, dir+"/") }) {
			continue
		}
		cmd, _ := redactor.Text(redact.StripControl(strings.Join(c.argv, " ")))
		servers = append(servers, sandboxport.ForeignServer{PID: c.pid, Dir: c.dir, Cmd: shortened(cmd)})
	}
	slices.SortFunc(servers, func(a, b sandboxport.ForeignServer) int { return a.PID - b.PID })
	return servers, nil
}

// relative is a process and who started it.
type relative struct {
	pid, parent int
	resident    int64 // bytes
}

// candidate is an agent server that carries no mark of ours.
type candidate struct {
	pid  int
	argv []string
	dir  string
}

// markName is the variable that every process which Countersign starts has in its environment.
const markName = "COUNTERSIGN_RUN_ID"

// isServer reports whether a command line starts opencode as a server: the program, or a script that an interpreter was given, and its first
// word that is no option.
func isServer(argv []string) bool {
	for i, word := range argv[:min(len(argv), 3)] {
		name := strings.TrimSuffix(filepath.Base(word), ".exe")
		if name != "opencode" && name != ".opencode" {
			continue
		}
		return slices.ContainsFunc(argv[i+1:], func(w string) bool { return w == "serve" || w == "web" })
	}
	return false
}

// shortened returns the displayed form of a command line.
func shortened(cmd string) string {
	const most = 300
	if len(cmd) <= most {
		return cmd
	}
	return strings.ToValidUTF8(cmd[:most], "") + "…"
}
