// Package events turns what happens in Countersign into a stream of events: approval requests, the progress and end of calls, audit records, and the
// output of running programs (packageflow-security contract §5.4).
//
// A Hub has one pump for all its listeners, and none while there are none. The pump reads the shared database, so the events of every process on this
// machine are in it. Nothing is written, and a slow listener never delays another one. Events were redacted by the core. Package httpapi sends them
// as server-sent events.
//
//   - feed.go: Event, Filter and the kinds of events (Kinds); payload.go: their payloads, with the members of the packageflow contract first
//   - hub.go, listener.go, pump.go: subscriptions, their queues, and the goroutine that polls for changes
//   - replay.go: events recreated, after a reconnect, from the records of a period, within ReplayedEvents and ReplayedFor. A result
//     may be repeated
//   - topics.go: data that is only available by calling a tool that reads, for the listener: background processes and their output, runs of
//     ecosystems and their logs. The audit log records each call, so they are infrequent, and less frequent without changes. No tool that
//     changes anything is called, and a topic that ended or must not be read is not polled again
//
// Its API may change at any time.
package events
