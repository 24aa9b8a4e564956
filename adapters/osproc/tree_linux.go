package osproc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/domain/owner"
)

// What the kernel calls the namespaces that it starts with, which are those of the machine itself.
const (
	firstPIDs  = "4026531836"
	firstTimes = "4026531834"
)

// LocalPlace returns the place this process is at.
func LocalPlace() owner.Place { return here() }

var here = sync.OnceValue(func() owner.Place {
	p := owner.Place{Boot: content("/proc/sys/kernel/random/boot_id"), Space: namespace("pid"), Machine: content("/etc/machine-id")}
	if times := namespace("time"); p.Space != "" && times != "" && times != firstTimes {
		p.Space += "+" + times // starts are told otherwise there
	}
	if host, _ := os.Hostname(); p.Machine == "" || p.Space != firstPIDs { // a container may have its id from the image, as many others do
		p.Machine += "@" + host
	}
	return p
})

// namespace returns the number of the namespace of that kind that this process is in, empty where the system does not tell.
func namespace(kind string) string {
	link, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return ""
	}
	_, number, _ := strings.Cut(strings.TrimSuffix(link, "]"), "[")
	return number
}

func content(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// SeesProcesses reports whether /proc shows the processes of the namespace that this process is in, and not those of another one.
func SeesProcesses() bool { return sighted() }

var sighted = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

// ownStart returns when this process was started, which /proc/self tells whatever numbers it goes by there.
func ownStart() string {
	p, _ := stat("self", os.Getpid())
	return p.start
}

// table returns the processes there are, without those of an earlier look.
func table(before []entry) []entry {
	if !SeesProcesses() {
		return nil // signalling these numbers would hit others
	}
	seen := make(map[int]bool, len(before))
	for _, p := range before {
		seen[p.pid] = true
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := make([]entry, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(name)
		if err != nil || seen[pid] || ofKernel(pid) {
			continue
		}
		if p, ok := find(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// ofKernel reports a thread of the kernel, which are half of all processes: they are in no group, and nothing that is started here ever is
// in none. Asking costs a twentieth of reading what a process is.
func ofKernel(pid int) bool {
	group, err := syscall.Getpgid(pid)
	return err == nil && group == 0
}

// find returns the process that has the number, if it can be seen.
func find(pid int) (entry, bool) {
	if !SeesProcesses() {
		return entry{}, false
	}
	return stat(strconv.Itoa(pid), pid)
}

// stat reads /proc/NAME/stat. Its second field, the program's name, may hold anything, so fields are counted from its last parenthesis.
func stat(name string, pid int) (entry, bool) {
	var fixture [1 << 10]byte // more than such a line can have
	stat, ok := ofProcess(name, "stat", fixture[:])
	if !ok {
		return entry{}, false
	}
	var fields [20][]byte // state is field 3, pgrp 5, num_threads 20, starttime 22
	n := 0
	for field := range bytes.FieldsSeq(stat[bytes.LastIndexByte(stat, ')')+1:]) {
		if n == len(fields) {
			break
		}
		fields[n] = field
		n++
	}
	if n < len(fields) {
		return entry{}, false
	}
	group, err := strconv.Atoi(string(fields[2]))
	if err != nil {
		return entry{}, false
	}
	state, threads := fields[0][0], string(fields[17])
	// A program whose first thread has ended is listed as dead while others go on.
	dead := state == 'X' || state == 'Z' && (threads == "0" || threads == "1")
	return entry{pid: pid, group: group, start: string(fields[19]), dead: dead}, true
}

// ofProcess returns a file about a process, in room if that is enough. All processes of the machine are looked at after each program that is run,
// and package os would ask five times as much of the kernel to get ready to wait for a file that never makes anybody wait.
func ofProcess(pid, name string, fixture []byte) ([]byte, bool) {
	file, err := again(func() (int, error) {
		return syscall.Open("/proc/"+pid+"/"+name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, false
	}
	defer syscall.Close(file) //nolint:errcheck // nothing was written
	for held := 0; ; {
		n, err := again(func() (int, error) { return syscall.Read(file, fixture[held:]) })
		if err != nil {
			return nil, false
		}
		if held += n; held < len(fixture) { // the kernel gives as much as there is room for
			return fixture[:held], true
		}
		fixture = append(fixture, make([]byte, len(fixture))...)
	}
}

// again repeats what a signal interrupted.
func again(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != syscall.EINTR {
			return n, err
		}
	}
}

// before reports whether a process that started at a cannot descend from one that started at b.
func before(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// execWait is how long a process in the middle of an exec is waited for. It takes that long only where the machine has no time for it.
const execWait = time.Second

// environ returns the environment that a process was started with. In the middle of an exec the kernel has none to show for a moment, and whoever is not
// recognized then would outlive those it belongs to: such a process is waited for.
func environ(pid string) ([]byte, bool) {
	for over := time.Now().Add(execWait); ; time.Sleep(50 * time.Microsecond) {
		env, ok := ofProcess(pid, "environ", make([]byte, 8<<10))
		if !ok || len(env) > 0 || !unsettled(pid) || time.Now().After(over) {
			return env, ok
		}
	}
}

// unsettled reports whether the kernel does not know yet where the environment of a living process is: one that was started without any has a place
// for it, too.
func unsettled(pid string) bool {
	stat, ok := ofProcess(pid, "stat", make([]byte, 2<<10))
	if !ok {
		return false
	}
	const state, envEnd = 0, 51 - 3 // of the fields behind the program's name, the first of which is the third
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > envEnd && fields[state][0] != 'Z' && fields[state][0] != 'X' && string(fields[envEnd]) == "0"
}

// marksSeen says that environments can be read here.
const marksSeen = true

// carries reports whether the process was started with the mark in its environment. Other users' processes do not say.
func carries(pid int, mark string) bool {
	env, ok := environ(strconv.Itoa(pid))
	if !ok {
		return false
	}
	for len(env) > 0 {
		at := bytes.Index(env, []byte(mark))
		if at < 0 {
			return false
		}
		end := at + len(mark)
		if (at == 0 || env[at-1] == 0) && (end == len(env) || env[end] == 0) {
			return true
		}
		env = env[end:]
	}
	return false
}
