package isolation

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/countersign-dev/countersign/domain/sandbox"
)

// The versions of Landlock that matter: from the first one that keeps files from being cut off, and from the first one that knows of networks.
const (
	leastABI   = 3
	networkABI = 4
	ioctlABI   = 5
	scopeABI   = 6
)

const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// version returns the version of Landlock that the kernel has; 0 for none.
func version() int {
	v, _, err := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if err != 0 {
		return 0
	}
	return int(v)
}

// Available fails with sandbox.ErrIsolation where the kernel has no Landlock that suffices.
func Available(noNetwork bool) error {
	switch v := version(); {
	case v < leastABI:
		return sandbox.ErrIsolation.WithMessage("this kernel has landlock version %d, but version %d is required (Linux 6.2); use bubblewrap", v, leastABI)
	case noNetwork && v < networkABI:
		return sandbox.ErrIsolation.WithMessage("this kernel has landlock version %d, which cannot restrict the network; version %d can (Linux 6.7); use bubblewrap-offline", v, networkABI)
	}
	return nil
}

// Launch confines this process as args say, and has the program behind them take its place. It only returns with an error.
func Launch(args []string) error {
	r, ok := parse(args)
	if !ok {
		return errors.New("this command is for internal use")
	}
	if err := Available(r.offline); err != nil {
		return err
	}
	program, err := exec.LookPath(r.argv[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		r.read = append(r.read, program, real)
	}
	env := os.Environ()
	if r.temp != "" {
		if err := os.Mkdir(r.temp, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		env = append(without(env, "TMPDIR"), "TMPDIR="+r.temp)
	}
	runtime.LockOSThread() // the rules are this thread's, and it is the one that goes on
	if err := confine(r); err != nil {
		return err
	}
	return syscall.Exec(program, r.argv, env)
}

func without(env []string, name string) (out []string) {
	for _, pair := range env {
		if !strings.HasPrefix(pair, name+"=") {
			out = append(out, pair)
		}
	}
	return out
}

// confine has the kernel allow this thread, and what it becomes, nothing but the rules.
func confine(r rules) error {
	v := version()
	all := uint64(unix.LANDLOCK_ACCESS_FS_IOCTL_DEV<<1 - 1)
	if v < ioctlABI {
		all &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	handled := unix.LandlockRulesetAttr{Handled_access_fs: all}
	size := unsafe.Sizeof(handled.Handled_access_fs)
	if v >= networkABI {
		size += unsafe.Sizeof(handled.Handled_access_net)
	}
	if r.offline {
		handled.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if v >= scopeABI {
		handled.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(handled.Scoped)
	}
	ruleset, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), size, 0)
	if no != 0 {
		return os.NewSyscallError("landlock_create_ruleset", no)
	}
	defer func() { _ = unix.Close(int(ruleset)) }()
	allow := func(path string, rights uint64, how int) error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|how, 0)
		if how != 0 && err != nil {
			return fmt.Errorf("the temporary directory %s is not usable: %w; delete it", path, err)
		}
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
			return nil // nothing to allow
		}
		if err != nil {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
		defer func() { _ = unix.Close(fd) }()
		var what unix.Stat_t
		if err := unix.Fstat(fd, &what); err != nil {
			return &os.PathError{Op: "stat", Path: path, Err: err}
		}
		if what.Mode&unix.S_IFMT != unix.S_IFDIR {
			rights &= fileRights
		}
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: rights & all, Parent_fd: int32(fd)}
		if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); no != 0 {
			return &os.PathError{Op: "landlock_add_rule", Path: path, Err: no}
		}
		return nil
	}
	for _, path := range r.write {
		if err := allow(path, all, 0); err != nil {
			return err
		}
	}
	for _, path := range r.git {
		if err := allow(path, all&^unix.LANDLOCK_ACCESS_FS_MAKE_SYM, 0); err != nil {
			return err
		}
	}
	if r.temp != "" { // it lies where others could put a link in its place
		if err := allow(r.temp, all, unix.O_DIRECTORY|unix.O_NOFOLLOW); err != nil {
			return err
		}
	}
	for _, path := range append(r.read, "/proc") {
		if err := allow(path, readRights, 0); err != nil {
			return err
		}
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"} {
		if err := allow(path, all&^unix.LANDLOCK_ACCESS_FS_EXECUTE, 0); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); no != 0 {
		return os.NewSyscallError("landlock_restrict_self", no)
	}
	return noTyping()
}
