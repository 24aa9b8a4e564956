package wiring

import (
	"context"
	"os/exec"
	"runtime"
	"strings"

	"github.com/countersign-dev/countersign/adapters/osproc"
)

// browse opens a link in a browser, and reports whether one was started: that of $BROWSER, else the machine's own, where there is a screen.
func browse(ctx context.Context, env func(string) string, link string) bool {
	argv := browser(env)
	if len(argv) == 0 {
		return false
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, append(argv[1:], link)...)
	osproc.SetSession(cmd) // it stays when we end
	if cmd.Start() != nil {
		return false
	}
	go cmd.Wait() //nolint:errcheck // nobody has to know how it ended
	return true
}

// browser returns the program that opens links; none without a screen.
func browser(env func(string) string) []string {
	if own, _, _ := strings.Cut(env("BROWSER"), ":"); strings.TrimSpace(own) != "" {
		return strings.Fields(own)
	}
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return nil
	}
	return []string{"xdg-open"}
}
