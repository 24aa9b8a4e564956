package isolation

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// native is the number by which the kernel knows the machine's own system calls; those of others, such as the 32-bit ones, are numbered otherwise.
var native = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}[runtime.GOARCH]

// Where the kernel shows a filter what is called: all on machines whose low bytes come first.
const (
	callNumber = 0
	callArch   = 4
	callSecond = 24 // the low half of its second argument
	otherABI   = 0x40000000
)

// noTyping has the kernel keep this thread, and what it becomes, from putting input into a terminal as if it had been typed (TIOCSTI, and TIOCLINUX by pasting a
// selection): whoever reads from that terminal next, the user's shell, would run it, outside of the sandbox. Of calls that are not the machine's own, whatever
// they are, the argument decides alone.
func noTyping() error {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(how uint16, k uint32, is, not uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: is, Jf: not, K: k}
	}
	end := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	filter := []unix.SockFilter{
		load(callArch),
		jump(unix.BPF_JEQ, native, 0, 3),
		load(callNumber),
		jump(unix.BPF_JGE, otherABI, 1, 0),
		jump(unix.BPF_JEQ, unix.SYS_IOCTL, 0, 3),
		load(callSecond),
		jump(unix.BPF_JEQ, unix.TIOCSTI, 2, 0),
		jump(unix.BPF_JEQ, unix.TIOCLINUX, 1, 0),
		end(unix.SECCOMP_RET_ALLOW),
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if no != 0 {
		return os.NewSyscallError("seccomp", no)
	}
	return nil
}
