// Package events turns what happens in Countersign into a stream of events: approval requests, how calls go on and end, audit records, and
// the output of running programs (packageflow-security contract §5.4).
//
// A Hub has one pump for all its listeners, and none while nobody listens. The pump looks at the shared database, so the events of every
// process on this machine are in it. Nothing is written, and a slow listener never holds up another one. Events were redacted by the core.
// Package httpapi sends them as server-sent events.
//
//   - feed.go: Event, Filter and the kinds of events (Kinds); payload.go: their payloads, with the members of the packageflow contract first
//   - hub.go, listener.go, pump.go: subscriptions, their queues, and the goroutine that looks for news
//   - replay.go: events made anew, after a reconnect, from the records between two moments, within ReplayedEvents and ReplayedFor. A result
//     may come again that the listener has heard already
//   - topics.go: what is only known by calling a tool that reads, on the listener's behalf: background processes and their output, runs of
//     ecosystems and their logs. The audit log records each look, so they are few, and fewer while nothing is new. No tool that changes
//     anything is called, and a topic that ended or may not be read is not looked at again
//
// Its API may change at any time.
package events
