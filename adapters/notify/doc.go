// Package notify notifies the user about pending approval requests: it computes which messages are due by the rules of domain/notice, claims
// each in a file that all processes of a home share, and sends it on every channel.
//
// No call, no decision and no end of the process is held up: everything is sent off their path, within limits (sendTimeout, closeTimeout),
// tried again within bounds, and what does not arrive is counted and logged. Notifier is a ports.Notifier; each channel is a ports.Channel.
//
//   - notifier.go: Options, Notifier, NewNotifier; deliverylog.go: the file notices.json, shared by all processes of a home
//   - channels.go: what ntfy.go, webhook.go and mail.go share. They need nothing but the standard library, follow no redirects, wait no
//     longer than they are told, and say no secret, not even in their errors. A Secret is given as "env:NAME" or "file:PATH", never as a
//     value
//   - ntfy.go: ntfy; webhook.go: signed webhooks (Sign); mail.go: SMTP
//   - desktop.go: notifications of the desktop session of this process (DesktopChannel)
//
// Its API may change at any time.
package notify
