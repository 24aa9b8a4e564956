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

// SetProcessGroup makes the command, which has not been started, the leader of a new process group.
func SetProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// SetSession makes the command, which has not been started, the leader of a new session without a terminal, which outlives this one.
func SetSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Seal closes the open files of this process for the programs that it starts, including inherited files.
func Seal() {
	open, _ := os.ReadDir("/dev/fd")
	for _, file := range open {
		if fd, err := strconv.Atoi(file.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// AwaitExit returns when the child has ended. It does not reap it: the process ID stays in use until ReapChild or Wait.
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

// ReapChild reaps a child without waiting, and reports whether it has ended.
func ReapChild(pid int) bool {
	got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return got == pid || err == syscall.ECHILD
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// PostToMailbox writes a line to the mailbox and reports whether it has a reader. It does not wait for the reader.
func PostToMailbox(path, line string) bool {
	box, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer box.Close()
	_, err = box.WriteString(line + "\n")
	return err == nil
}

// MailboxHasReader reports whether the mailbox has a reader.
func MailboxHasReader(path string) bool {
	box, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_ = box.Close()
	}
	return err == nil
}

// WidenPipe enlarges the buffer of the pipe, so that its writer blocks less often.
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

// absent reports whether no process in this namespace has that process ID, including hidden ones.
func absent(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }
