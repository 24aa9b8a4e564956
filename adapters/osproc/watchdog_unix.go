//go:build linux || darwin

package osproc

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// watch starts the watchdog, which is nobody's child. It is told which process groups there are, and when its input ends, which is when this process has, it ends
// them.
const watch = `exec 3<&0
(groups=
while read -r sign group; do
	left=
	for g in $groups; do [ "$g" = "$group" ] || left="$left $g"; done
	groups=$left
	[ "$sign" = - ] || groups="$groups $group"
done <&3
[ -n "$groups" ] || exit 0
for g in $groups; do kill -s TERM -- "-$g"; done
sleep 2
for g in $groups; do kill -s KILL -- "-$g"; done) &`

// watchdog ends the programs of this process when it is killed, so that it cannot do so itself. One shell does that for all of them.
type watchdog struct {
	mu     sync.Mutex
	to     *os.File // what it is told by; nil before it is needed
	groups map[int]bool
}

// ours is this process's.
var ours = watchdog{groups: map[int]bool{}}

// guard has a process group end with this process. Where no shell can be started, the group is found by the next start.
func (w *watchdog) guard(group int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups[group] = true
	if w.to != nil && w.say("+", group) {
		return
	}
	if w.start() {
		for g := range w.groups {
			w.say("+", g)
		}
	}
}

// release is to be called before the group's leader is waited for: then the number may come again.
func (w *watchdog) release(group int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.groups, group)
	if w.to != nil {
		w.say("-", group)
	}
}

func (w *watchdog) say(sign string, group int) bool {
	_, err := fmt.Fprintln(w.to, sign, group)
	return err == nil
}

func (w *watchdog) start() bool {
	if w.to != nil {
		_ = w.to.Close()
		w.to = nil
	}
	r, to, err := os.Pipe()
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"countersign-watchdog", "-c", watch}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdin: r}
	SetSession(cmd)
	if err := cmd.Run(); err != nil {
		_ = to.Close()
		return false
	}
	w.to = to
	return true
}
