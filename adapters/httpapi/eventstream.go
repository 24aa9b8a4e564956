package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// How often a stream sends a keep-alive, and how long a client waits before it reconnects.
const (
	heartbeat = 15 * time.Second
	comeAgain = time.Second
)

// MaxStreams is the maximum number of open streams.
const MaxStreams = 512

// ErrStreams is returned for one stream more than MaxStreams.
var ErrStreams = fault.New(fault.Unavailable, "streams_exhausted", "too many event streams are open")

// Call calls the core to read topics for the client.
type Call func(ctx context.Context, c tool.Call) tool.Outcome

// Serve sends the events that the query selects, until one side ends.
func Serve(x *Exchange, hub *events.Hub, call Call) error {
	f, err := filter(x, call)
	if err != nil {
		return err
	}
	if hub == nil || hub.Listeners() >= MaxStreams {
		return ErrStreams.WithMessage("%d event streams are open, the maximum; close one", MaxStreams)
	}
	h := x.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // for proxies in between
	x.W.WriteHeader(http.StatusOK)
	if x.R.Method == http.MethodHead {
		return nil
	}
	events := hub.Subscribe(x.R.Context(), f)
	s := sending{x.W, http.NewResponseController(x.W)}
	if !s.send("retry: " + strconv.FormatInt(comeAgain.Milliseconds(), 10) + "\n\n") {
		return nil
	}
	beating := time.NewTicker(heartbeat)
	defer beating.Stop()
	for {
		select {
		case e, more := <-events:
			if !more || !s.send(frame(e)) {
				return nil
			}
		case <-beating.C:
			if !s.send(": here\n\n") {
				return nil
			}
		}
	}
}

// sending writes a stream.
type sending struct {
	to      http.ResponseWriter
	control *http.ResponseController
}

// send reports false if the client has disconnected or does not read.
func (s sending) send(text string) bool {
	if _, err := s.to.Write([]byte(text)); err != nil {
		return false
	}
	return s.control.Flush() == nil
}

// frame returns an event as sent. Its data is on one line.
func frame(e events.Event) string {
	var b bytes.Buffer
	if e.ID > 0 {
		b.WriteString("id: " + strconv.FormatInt(e.ID, 10) + "\n")
	}
	b.WriteString("event: " + e.Kind + "\ndata: ")
	b.Write(e.Data)
	b.WriteString("\n\n")
	return b.String()
}

// filter returns the Filter in the query.
func filter(x *Exchange, call Call) (events.Filter, error) {
	q := x.R.URL.Query()
	f := events.Filter{Conversation: q.Get("conversationId"), Within: x.Visitor.Within, Kinds: words(q, "events"),
		Topics: events.TopicWatcher{Process: q.Get("process"), Run: q.Get("run"), Ask: ask(x, call)}}
	if since := q.Get("since"); since != "" {
		n, err := strconv.ParseInt(since, 10, 64)
		if err != nil || n < 0 {
			return f, ErrQuery.WithMessage("since: invalid line number %q", Shorten(since))
		}
		f.Topics.Since = &n
	}
	for _, kind := range f.Kinds {
		if !slices.Contains(events.Kinds(), kind) {
			return f, ErrQuery.WithMessage("events: unknown event %q; use one of %s", Shorten(kind), strings.Join(events.Kinds(), ", "))
		}
	}
	for _, topic := range words(q, "topics") {
		switch topic {
		case "processes":
			f.Topics.Processes = true
		case "runs":
			f.Topics.Runs = true
		default:
			return f, ErrQuery.WithMessage("topics: unknown topic %q; use processes or runs", Shorten(topic))
		}
	}
	last := x.R.Header.Get("Last-Event-ID")
	if last == "" {
		last = q.Get("lastEventId") // for clients that cannot set headers
	}
	if last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return f, ErrQuery.WithMessage("invalid Last-Event-ID %q", Shorten(last))
		}
		f.After = n
	}
	return f, nil
}

// words returns the values of a query parameter that is a list.
func words(q url.Values, name string) (list []string) {
	for _, value := range q[name] {
		for word := range strings.SplitSeq(value, ",") {
			if word != "" {
				list = append(list, word)
			}
		}
	}
	return list
}

// ask calls tools for a stream, as its client.
func ask(x *Exchange, call Call) func(context.Context, tool.Name, json.RawMessage) tool.Outcome {
	return func(ctx context.Context, name tool.Name, args json.RawMessage) tool.Outcome {
		return call(ctx, x.Visitor.Call(name, args))
	}
}
