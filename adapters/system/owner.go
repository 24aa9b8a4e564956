package system

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// proc is where Linux shows its processes. Elsewhere there is none, and a process is told apart by its number alone.
const proc = "/proc"

// Owner is a ports.Owner: a process by its number, when it was started, and since which start of the machine. The zero Owner is ready;
// all methods may be called from many goroutines.
type Owner struct{}

// Self is this process, as "pid start boot": the start in clock ticks since the machine's, and the id of that. Where the system does not
// tell them they are "-".
func (Owner) Self() string {
	pid := os.Getpid()
	start, _ := started(pid)
	return strconv.Itoa(pid) + " " + dash(start) + " " + dash(boot())
}

// Alive reports whether the process of that name still runs. A number that belongs to another process now is not it. What is no name is
// not alive.
func (Owner) Alive(owner string) bool {
	parts := strings.Fields(owner)
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return false
	}
	if now := boot(); parts[2] != dash(now) {
		return false
	}
	start, running := started(pid)
	if parts[1] != "-" {
		return running && start == parts[1]
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// started is when the process began, in clock ticks since the machine did, and whether it still runs: one that has ended and that nobody
// has asked about does not.
func started(pid int) (ticks string, running bool) {
	stat, err := os.ReadFile(proc + "/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// The second field is the program's name in parentheses, which may hold anything; the third is the state, the 22nd the start.
	after := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	fields := strings.Fields(after)
	if len(fields) < 20 {
		return "", false
	}
	return fields[19], !strings.ContainsAny(fields[0], "ZXx")
}

// boot is the id of this start of the machine; empty where the system does not tell.
func boot() string {
	id, err := os.ReadFile(proc + "/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
