// Package keychain reads secrets from the keychain of the operating system: the login keychain of macOS, the Secret Service of Linux desktops (GNOME Keyring,
// KWallet), the Credential Manager of Windows. Nothing is ever written there.
//
// Its API may change at any time.
package keychain

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/zalando/go-keyring"

	"github.com/countersign-dev/countersign/domain/fault"
)

// Service is the service name of the secrets in the keychain; their account is the name of the secret.
const Service = "countersign"

// ErrUnavailable is returned on a machine without a keychain, or if the keychain did not answer; see its cause.
var ErrUnavailable = fault.New(fault.Unavailable, "keychain_unavailable", "the keychain is unavailable")

// Get returns the secret with that name, and whether there is one. It fails with ErrUnavailable.
func Get(name string) (string, bool, error) {
	if runtime.GOOS == "linux" && !sessionBus(os.Getenv) { // the query would start an empty bus of its own
		return "", false, ErrUnavailable.WithMessage("the keychain is unavailable: this session has no D-Bus session bus (DBUS_SESSION_BUS_ADDRESS)")
	}
	value, err := keyring.Get(Service, name)
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, ErrUnavailable.WithMessage("the keychain did not answer: %v", err).WithCause(err)
	}
	return value, true, nil
}

// sessionBus reports whether the user's session has a bus.
func sessionBus(env func(string) string) bool {
	if env("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := env("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}

// HowToStore returns the operating system's command that stores a secret for Get, and what installs it if it is missing. The command asks for the
// value, so that no command line contains it.
func HowToStore(name string) string {
	switch runtime.GOOS {
	case "darwin":
		return "security add-generic-password -s " + Service + " -a " + name + " -w"
	case "windows":
		return "cmdkey /generic:" + Service + ":" + name + " /user:" + name + " /pass"
	}
	command := "secret-tool store --label=" + name + " service " + Service + " username " + name
	if _, err := exec.LookPath("secret-tool"); err != nil {
		command += " (secret-tool comes with libsecret)"
	}
	return command
}
