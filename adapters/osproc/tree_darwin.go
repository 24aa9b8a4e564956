package osproc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/countersign-dev/countersign/domain/owner"
)

// LocalPlace returns the place this process is at: there are no namespaces here.
func LocalPlace() owner.Place { return here() }

var here = sync.OnceValue(func() owner.Place {
	boot, _ := syscall.Sysctl("kern.bootsessionuuid") // empty where it is not told
	host, _ := os.Hostname()
	return owner.Place{Boot: boot, Space: "host", Machine: "darwin@" + host}
})

// SeesProcesses reports that processes are seen here.
func SeesProcesses() bool { return true }

func ownStart() string {
	p, _ := find(os.Getpid())
	return p.start
}

func table([]entry) []entry { return ps("-ax") }

func find(pid int) (entry, bool) {
	for _, p := range ps("-p", strconv.Itoa(pid)) {
		if p.pid == pid {
			return p, true
		}
	}
	return entry{}, false
}

func ps(which ...string) (all []entry) {
	out, _ := exec.Command("/bin/ps", append(which, "-o", "pid=,pgid=,stat=,lstart=")...).Output() // it fails when it finds nobody
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		pid, bad := strconv.Atoi(fields[0])
		group, worse := strconv.Atoi(fields[1])
		if bad == nil && worse == nil {
			start := strings.ReplaceAll(strings.Join(fields[3:], "_"), ":", ".") // an identity is split at colons
			all = append(all, entry{pid: pid, group: group, start: start, dead: fields[2][0] == 'Z'})
		}
	}
	return all
}

func before(string, string) bool { return false }

// marksSeen says that environments cannot be read here.
const marksSeen = false

// carries is unknown on this system, which does not show environments.
func carries(int, string) bool { return false }
