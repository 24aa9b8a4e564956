package notice

import (
	"fmt"
	"time"
)

// The default notification settings and limits.
const (
	DefaultReminder  = time.Hour   // before a request expires
	DefaultPerMinute = 5           // messages a minute on each channel; the rest go into one summary
	MaxPerMinute     = 60          // maximum value of the setting
	RateWindow       = time.Minute // the period to which PerMinute applies
	GracePeriod      = time.Minute // how long to wait before notifying others of a request that the user made
)

// Rules is the notification configuration.
type Rules struct {
	Reminder  time.Duration            // how long before a request expires a reminder is sent; zero: never
	PerMinute int                      // messages a minute; less than 1 is DefaultPerMinute
	Link      func(path string) string // returns the link to the console page of a request (by ID), or of all; nil or empty: no console is known to run
}

func (r Rules) link(id string) string {
	if r.Link == nil {
		return ""
	}
	return r.Link(id)
}

func (r Rules) perMinute() int {
	if r.PerMinute < 1 {
		return DefaultPerMinute
	}
	return r.PerMinute
}

// mark is when users were notified of a request. The process that sets a time sends the message, so that exactly one process does.
type mark struct {
	Waits    time.Time `json:"waits"`
	Reminder time.Time `json:"reminder,omitzero"`
	Expired  time.Time `json:"expired,omitzero"`
}

// HeldMessage is a message that exceeded the limit of its minute and goes into a summary.
type HeldMessage struct {
	Question string `json:"question"`
	Kind     kind   `json:"kind"`
}

// ChannelStatus is the recent delivery status of a channel.
type ChannelStatus struct {
	SentAt   time.Time `json:"sent_at,omitzero"` // when the last message was delivered
	FailedAt time.Time `json:"failed_at,omitzero"`
	Failures int       `json:"failures,omitempty"` // failed messages since the last delivered one
	Failure  string    `json:"failure,omitempty"`  // error of the last failed one
}

// Channel is a notification channel with its status.
type Channel struct {
	Name  string `json:"name"`
	Where string `json:"where,omitempty"` // without secrets
	ChannelStatus
}

// ChannelTestResult is the result of a test message on one channel.
type ChannelTestResult struct {
	Channel string `json:"channel"`
	Sent    bool   `json:"sent"`
	Failure string `json:"failure,omitempty"`
}

// DeliveryLog records which notifications were sent by the processes of a home. The zero DeliveryLog is empty.
type DeliveryLog struct {
	Told     map[string]mark          `json:"told,omitempty"` // by request ID
	Sent     []time.Time              `json:"sent,omitempty"` // times of the messages sent within the last RateWindow
	Held     []HeldMessage            `json:"held,omitempty"`
	Channels map[string]ChannelStatus `json:"channels,omitempty"`
}

// Due returns the messages that are due for the pending and recently expired requests, oldest first, and records them as sent: the caller has to send
// them. ending reports, for a request that the user made, that its process no longer waits.
func (b *DeliveryLog) Due(r Rules, questions []Question, now time.Time, ending func(id string) bool) []Message {
	b.forget(questions, now)
	var due []Message
	for _, q := range questions {
		kind := b.dueOf(r, q, now, ending)
		if kind == "" {
			continue
		}
		b.mark(q.ID, kind, now)
		if len(b.Held) > 0 || len(b.Sent) >= r.perMinute() {
			b.Held = append(b.Held, HeldMessage{Question: q.ID, Kind: kind})
			continue
		}
		b.Sent = append(b.Sent, now)
		due = append(due, q.message(kind, r, now))
	}
	if len(b.Held) > 0 && len(b.Sent) < r.perMinute() {
		if m, some := b.sum(r, questions, now); some {
			b.Sent = append(b.Sent, now)
			due = append(due, m)
		}
		b.Held = nil
	}
	return due
}

// dueOf returns the kind of message that is due for one request; empty for none.
func (b *DeliveryLog) dueOf(r Rules, q Question, now time.Time, ending func(id string) bool) kind {
	mark := b.Told[q.ID]
	switch over := !now.Before(q.ExpiresAt); {
	case over && !mark.Waits.IsZero() && mark.Expired.IsZero():
		return Expired
	case over:
		return ""
	case mark.Waits.IsZero():
		if q.ByHand && now.Before(q.AskedAt.Add(GracePeriod)) && (ending == nil || !ending(q.ID)) {
			return ""
		}
		return Waits
	case mark.Reminder.IsZero() && r.Reminder > 0:
		when := q.ExpiresAt.Add(-r.Reminder)
		if half := mark.Waits.Add(q.ExpiresAt.Sub(mark.Waits) / 2); half.After(when) { // a short-lived request is reminded of at half its remaining time at the earliest
			when = half
		}
		if !now.Before(when) {
			return Reminder
		}
	}
	return ""
}

func (b *DeliveryLog) mark(id string, kind kind, now time.Time) {
	if b.Told == nil {
		b.Told = map[string]mark{}
	}
	mark := b.Told[id]
	switch kind {
	case Waits:
		mark.Waits = now
	case Reminder:
		mark.Reminder = now
	case Expired:
		mark.Expired = now
	}
	b.Told[id] = mark
}

// forget deletes entries that no rule uses any more.
func (b *DeliveryLog) forget(questions []Question, now time.Time) {
	there := map[string]bool{}
	for _, q := range questions {
		there[q.ID] = true
	}
	for id := range b.Told {
		if !there[id] {
			delete(b.Told, id)
		}
	}
	var recent []time.Time
	for _, t := range b.Sent {
		if now.Sub(t) < RateWindow && !t.After(now) {
			recent = append(recent, t)
		}
	}
	b.Sent = recent
}

// sum returns one message for the held messages that still apply.
func (b *DeliveryLog) sum(r Rules, questions []Question, now time.Time) (Message, bool) {
	open := map[string]bool{}
	for _, q := range questions {
		open[q.ID] = now.Before(q.ExpiresAt)
	}
	count := map[kind]int{}
	counted := map[string]bool{}
	for _, h := range b.Held {
		waits, known := open[h.Question]
		switch {
		case !known || counted[h.Question+string(h.Kind)], (h.Kind == Expired) == waits:
			continue
		}
		counted[h.Question+string(h.Kind)] = true
		count[h.Kind]++
	}
	if len(count) == 0 {
		return Message{}, false
	}
	return summary(fmt.Sprintf("summary-%d", now.UnixNano()), r, count[Waits], count[Reminder], count[Expired], now), true
}

// Untold removes the record of a message that could not be sent, so that another process can send it.
func (b *DeliveryLog) Untold(id string, kind kind) {
	mark, told := b.Told[id]
	if !told {
		return
	}
	switch kind {
	case Waits:
		delete(b.Told, id)
		return
	case Reminder:
		mark.Reminder = time.Time{}
	case Expired:
		mark.Expired = time.Time{}
	}
	b.Told[id] = mark
}

// Note records whether a message was delivered on a channel; failure is empty if it was.
func (b *DeliveryLog) Note(channel string, failure string, now time.Time) {
	if b.Channels == nil {
		b.Channels = map[string]ChannelStatus{}
	}
	s := b.Channels[channel]
	if failure == "" {
		s = ChannelStatus{SentAt: now}
	} else {
		s.FailedAt, s.Failure = now, failure
		s.Failures++
	}
	b.Channels[channel] = s
}
