package kin

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// boot names the time since the machine was started: process numbers and start times mean nothing beyond it.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}

// table is the processes there are, without those of an earlier look.
func table(before []entry) []entry {
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

// find reads /proc/PID/stat. Its second field, the program's name, may hold anything, so fields are counted from its last parenthesis.
func find(pid int) (entry, bool) {
	var room [1 << 10]byte // more than such a line can have
	stat, ok := ofProcess(pid, "stat", room[:])
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

// ofProcess is a file about a process, in room if that is enough. All processes of the machine are looked at after each program that is run,
// and package os would ask five times as much of the kernel to get ready to wait for a file that never makes anybody wait.
func ofProcess(pid int, name string, room []byte) ([]byte, bool) {
	file, err := again(func() (int, error) {
		return syscall.Open("/proc/"+strconv.Itoa(pid)+"/"+name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, false
	}
	defer syscall.Close(file) //nolint:errcheck // nothing was written
	for held := 0; ; {
		n, err := again(func() (int, error) { return syscall.Read(file, room[held:]) })
		if err != nil {
			return nil, false
		}
		if held += n; held < len(room) { // the kernel gives as much as there is room for
			return room[:held], true
		}
		room = append(room, make([]byte, len(room))...)
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

// carries reports whether the process was started with the mark in its environment. Other users' processes do not say.
func carries(pid int, mark string) bool {
	env, ok := ofProcess(pid, "environ", make([]byte, 8<<10))
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
