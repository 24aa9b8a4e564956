package notify

import (
	"context"
	"runtime"

	"github.com/gen2brain/beeep"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
)

// ErrDesktop is returned if there is no desktop to show notifications.
var ErrDesktop = fault.New(fault.State, "notify_no_desktop", "no desktop session for notifications")

// HasDesktopSession reports whether this process belongs to a desktop session.
func HasDesktopSession(env func(string) string) bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return env("SSH_CONNECTION") == ""
	}
	return env("DBUS_SESSION_BUS_ADDRESS") != "" && (env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "")
}

// DesktopChannel is a ports.Channel. NewDesktopChannel makes it.
type DesktopChannel struct{ env func(string) string }

// NewDesktopChannel returns the channel for the desktop session in the environment.
func NewDesktopChannel(env func(string) string) DesktopChannel { return DesktopChannel{env} }

// Name returns the name of the channel.
func (DesktopChannel) Name() string { return "desktop" }

// Where returns the place where messages are shown.
func (DesktopChannel) Where() string { return "this desktop" }

// Send shows the message. It returns when ctx ends, even if the desktop does not answer.
func (c DesktopChannel) Send(ctx context.Context, m notice.Message) error {
	if !HasDesktopSession(c.env) { // without one, a bus would be searched for, and possibly started
		return ErrDesktop.WithMessage("this process has no desktop session; start it in one, or set notify: desktop: false")
	}
	beeep.AppName = "Countersign"
	shown := make(chan error, 1)
	go func() { shown <- beeep.Notify(m.Title, m.Text, "") }()
	select {
	case err := <-shown:
		if err != nil {
			return ErrDesktop.WithMessage("the desktop shows no notifications").WithCause(err)
		}
		return nil
	case <-ctx.Done():
		return ErrDesktop.WithMessage("the desktop did not answer in time")
	}
}
