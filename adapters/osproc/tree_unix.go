//go:build linux || darwin

package osproc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"
)

// Supported reports whether processes can be started so that all of them can be ended.
const Supported = true

// SetProcessGroup makes the command, which has not been started, lead a process group of its own.
func SetProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// SetSession makes the command, which has not been started, lead a session of its own: no terminal, and no end with ours.
func SetSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Seal keeps the files this process has open from the programs it starts: also those it was given itself by whoever started it.
func Seal() {
	open, _ := os.ReadDir("/dev/fd")
	for _, file := range open {
		if fd, err := strconv.Atoi(file.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// AwaitExit returns when the child has ended. It is not waited for by that: its number stays taken until somebody does.
func AwaitExit(pid int) error {
	const ofPID = 1
	var info [128]byte // siginfo_t, which nobody reads
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, ofPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno == 0 {
			return nil
		}
		if errno != syscall.EINTR {
			return errno
		}
	}
}

// ReapChild notices the end of a child that nobody waits for, and reports whether it has ended.
func ReapChild(pid int) bool {
	got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return got == pid || err == syscall.ECHILD
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// PostToMailbox puts a line into the mailbox, and reports whether somebody reads there. It does not wait for him.
func PostToMailbox(path, line string) bool {
	box, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer box.Close()
	_, err = box.WriteString(line + "\n")
	return err == nil
}

// MailboxHasReader reports whether somebody reads at the mailbox.
func MailboxHasReader(path string) bool {
	box, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_ = box.Close()
	}
	return err == nil
}

// WidenPipe lets the pipe hold more, so that whoever writes waits less often.
func WidenPipe(pipe *os.File) {
	const setPipeSize, size = 1031, 256 << 10 // F_SETPIPE_SZ; an error elsewhere
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, size) })
	}
}

func signalGroup(leader int, s syscall.Signal) {
	if leader > 1 { // 0 and 1 mean ourselves and everybody
		_ = syscall.Kill(-leader, s)
	}
}

// absent reports a number that nobody in this namespace has, whoever it may be hidden from.
func absent(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }
