// Package notify notifies the user about pending approval requests: it determines which messages are due by the rules of domain/notice, claims each
// in a file that all processes of a home share, and sends it on every channel.
//
// Sending never delays a call, a decision or the end of the process: it runs in the background, within limits (sendTimeout, closeTimeout), with a
// limited number of retries; failures are counted and logged. Notifier is a ports.Notifier; each channel is a ports.Channel.
//
//   - notifier.go: Options, Notifier, NewNotifier; deliverylog.go: the file notices.json, shared by all processes of a home
//   - channels.go: what ntfy.go, webhook.go and mail.go share. They use only the standard library, follow no redirects, keep their time
//     limits, and reveal no secret, not even in errors. A Secret is given as "env:NAME" or "file:PATH", never as a value
//   - ntfy.go: ntfy; webhook.go: signed webhooks (Sign); mail.go: SMTP
//   - desktop.go: notifications of the desktop session of this process (DesktopChannel)
//
// Its API may change at any time.
package notify
