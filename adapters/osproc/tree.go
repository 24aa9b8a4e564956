package osproc

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/owner"
)

// Identity identifies one process permanently, in the form of owner.ID; older ones are "pid:start:boot". The empty identity is of no process.
type Identity string

// SelfIdentity is this process.
func SelfIdentity() Identity {
	return Identity(owner.ID{PID: os.Getpid(), Start: ownStart(), Place: LocalPlace()}.String())
}

// IdentityOf returns the process that has the number now, and whether there is one. One that has ended and was not waited for yet counts.
func IdentityOf(pid int) (Identity, bool) {
	p, ok := find(pid)
	if !ok {
		return "", false
	}
	return Identity(owner.ID{PID: pid, Start: p.start, Place: LocalPlace()}.String()), true
}

// id parses the identity; ok is false if it is invalid.
func (id Identity) id() (owner.ID, bool) { return owner.ParseID(string(id)) }

// PID returns the process ID in the identity, or zero if it is invalid.
func (id Identity) PID() int {
	of, _ := id.id()
	return of.PID
}

// Alive reports whether that very process runs, as far as that can be seen from here. One that has ended is dead, waited for or not.
func (id Identity) Alive() bool { return JudgeIdentity(string(id), false) == owner.Alive }

// JudgeIdentity returns what this process can tell of the owner of that name. Nobody's name is a dead owner's. lapsed says that its lease ran out.
func JudgeIdentity(name string, lapsed bool) owner.Verdict {
	if name == "" {
		return owner.Dead
	}
	id, _ := owner.ParseID(name)
	return id.Judge(LocalPlace(), look, lapsed)
}

// look returns an owner.ProcessProbe.
func look(pid int, start string) owner.Verdict {
	if LocalPlace().Space == "" {
		return owner.Unknown // its numbers may be others'
	}
	p, ok := find(pid)
	switch {
	case !ok && absent(pid), ok && start != "" && (p.start != start || p.dead):
		return owner.Dead
	case !ok, start == "":
		return owner.Unknown // hidden from this user, or whoever has the number now
	}
	return owner.Alive
}

// entry is a line of the machine's process table.
type entry struct {
	pid, group int
	start      string // in whatever unit; equal for the same process
	dead       bool   // it has ended, and its parent has not noticed
}

// ProcessTree are a process group and whatever left it but carries its mark.
type ProcessTree struct {
	Leader Identity // of the group; empty when it is not known
	Mark   string   // "NAME=value", looked for in the environment a process was started with; empty is none
	Child  bool     // the leader is this process's child and was not waited for, so nobody else can have its number
}

// Living returns the numbers of the processes that have not ended. Where environments cannot be read those with the mark are left out.
func (k ProcessTree) Living() []int {
	var pids []int
	for _, p := range k.members() {
		pids = append(pids, p.pid)
	}
	return pids
}

// members lists twice if the first list is empty: it can miss a process that starts another and ends.
func (k ProcessTree) members() []entry {
	id, known := k.Leader.id()
	here := LocalPlace()
	if known && (id.Boot != here.Boot || id.Space != "" && id.Space != here.Space) || !known && k.Mark == "" {
		return nil
	}
	first := table(nil)
	found := k.among(first, first)
	if len(found) == 0 {
		found = k.among(table(first), first)
	}
	return found
}

// among returns the members of the family among some processes. all are those that the leader may be one of.
func (k ProcessTree) among(some, all []entry) (found []entry) {
	id, known := k.Leader.id()
	leader, start := id.PID, id.Start
	known = known && leader > 1
	// As long as the leader is there, alive or not waited for, the group with its number is its own.
	here := known && slices.ContainsFunc(all, func(p entry) bool { return p.pid == leader && p.start == start }) && (k.Child || k.Mark == "" || !marksSeen || k.marked(all, leader))
	self := os.Getpid()
	for _, p := range some {
		switch {
		case p.dead || p.pid == self || p.pid <= 1:
		case here && p.group == leader, k.Mark != "" && !(known && before(p.start, start)) && carries(p.pid, k.Mark):
			found = append(found, p)
		}
	}
	return found
}

// marked reports whether a member of the group carries the mark. Who is no child is known from a file alone, which any program may have written: a group
// of which nobody carries the mark is somebody else's.
func (k ProcessTree) marked(all []entry, group int) bool {
	return slices.ContainsFunc(all, func(p entry) bool { return !p.dead && p.group == group && carries(p.pid, k.Mark) })
}

// Signal sends the signal to all of them that live, and reports how many those were.
func (k ProcessTree) Signal(s syscall.Signal) int {
	if k.Child {
		signalGroup(k.Leader.PID(), s) // all at once, whatever they start meanwhile
	}
	found := k.members()
	for _, p := range found {
		if k.Child && p.group == k.Leader.PID() {
			continue
		}
		signalOne(p, s)
	}
	return len(found)
}

// signalOne signals a process through a handle, so that no process that has reused its number is hit.
func signalOne(p entry, s syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer handle.Release() //nolint:errcheck // nothing was waited for
	if now, ok := find(p.pid); ok && now.start == p.start {
		_ = handle.Signal(s) // it may have ended just now
	}
}

// LookPath finds the file that name means to a program started with that PATH in that directory: as a shell would, but neither an empty
// nor a relative entry of PATH counts.
func LookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for dir := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(dir, "/") {
			continue
		}
		file := dir + "/" + name
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}
