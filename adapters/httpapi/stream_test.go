package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpapi"
	adaptersevents "github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// heard is one server-sent event.
type heard struct {
	id, kind string
	data     map[string]any
}

// stream is an open stream of events.
type stream struct {
	t      *testing.T
	events chan heard
	leave  context.CancelFunc
	header http.Header
}

// open opens a stream until the test ends.
func (s *site) open(t *testing.T, query, who string, headers ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/events"+query, nil)
	require.NoError(t, err)
	r.Header.Set(as, who)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, 200, answer.StatusCode)
	st := &stream{t, make(chan heard), cancel, answer.Header}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(st.events)
		defer answer.Body.Close()
		var e heard
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case field == "id":
				e.id = value
			case field == "event":
				e.kind = value
			case field == "data":
				if json.Unmarshal([]byte(value), &e.data) != nil {
					e.data = map[string]any{"broken": value}
				}
			case lines.Text() == "" && e.kind != "":
				select {
				case st.events <- e:
				case <-ctx.Done():
					return
				}
				e = heard{}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return st
}

func (s *stream) until(kind string) heard {
	s.t.Helper()
	over := time.After(time.Minute)
	for {
		select {
		case e, more := <-s.events:
			require.True(s.t, more, "the stream goes on")
			require.NotContains(s.t, e.data, "broken")
			if e.kind == kind {
				return e
			}
		case <-over:
			require.Fail(s.t, "nothing is heard of "+kind)
		}
	}
}

// TestEventsOverTheWire: a question is heard, answered, and its end is heard; who comes again with the last id has missed nothing.
func TestEventsOverTheWire(t *testing.T) {
	d := newDepot(t)
	s := d.open(t, "", "person")
	assert.Equal(t, "text/event-stream", s.header.Get("Content-Type"))
	assert.Equal(t, "no-store", s.header.Get("Cache-Control"))
	answered := d.calling("POST /api/v1/tools/wipe?wait=10m", `{"name":"Carthage"}`)
	q := s.until(adaptersevents.KindConfirmation)
	assert.Equal(t, "wipe Carthage", q.data["prompt"])
	d.get(200, "POST /api/v1/confirmations/"+q.data["confirmationId"].(string)+"/approve", fmt.Sprintf(`{"plan_hash":%q}`, q.data["planHash"]), "person")
	r := s.until(adaptersevents.KindResult)
	assert.Equal(t, true, r.data["success"])
	assert.Equal(t, 200, (<-answered).status)
	last := s.until(adaptersevents.KindAudit)
	require.NotEmpty(t, last.id)
	s.leave()

	id, err := strconv.Atoi(last.id)
	require.NoError(t, err)
	d.clock.Advance(time.Second)
	d.send("POST /api/v1/tools/look", `{"name":"x"}`, "")
	for _, headers := range [][]string{{"Last-Event-ID", strconv.Itoa(id)}, nil} {
		query := ""
		if headers == nil {
			query = "?lastEventId=" + strconv.Itoa(id)
		}
		again := d.open(t, query, "", headers...)
		assert.Equal(t, strconv.Itoa(id+1), again.until(adaptersevents.KindAudit).id)
	}
	only := d.open(t, "?events=ai-tool-confirmation,ai-tool-result&conversationId=s1", "")
	d.send("POST /api/v1/tools/raze", `{"name":"y"}`, "")
	e := <-only.events
	assert.Equal(t, adaptersevents.KindConfirmation, e.kind)
	assert.Equal(t, "y", e.data["typeToConfirm"])
	assert.Empty(t, e.id)
	for _, query := range []string{"?events=everything", "?topics=weather", "?lastEventId=x", "?lastEventId=-1"} {
		assert.Equal(t, "query_invalid", problem(t, d.get(400, "GET /api/v1/events"+query, "", "")), query)
	}
	assert.Equal(t, "text/event-stream", d.send("HEAD /api/v1/events", "", "").header.Get("Content-Type"))
	assert.Equal(t, 405, d.send("POST /api/v1/events", "{}", "").status)
}

// TestAListenerThatGoesAwayIsForgotten.
func TestAListenerThatGoesAwayIsForgotten(t *testing.T) {
	d := newDepot(t)
	for range 5 {
		s := d.open(t, "", "")
		require.Eventually(t, func() bool { return d.hub.Listeners() == 1 }, time.Minute, time.Millisecond)
		s.leave()
		require.Eventually(t, func() bool { return d.hub.Listeners() == 0 }, time.Minute, time.Millisecond)
	}
	d.hub.Close()
	s := d.open(t, "", "")
	_, more := <-s.events
	assert.False(t, more, "a server that ends ends its streams")
}

// TestStreamsAreBounded.
func TestStreamsAreBounded(t *testing.T) {
	d := newDepot(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range httpapi.MaxStreams {
		d.hub.Subscribe(ctx, adaptersevents.Filter{})
	}
	assert.Equal(t, "streams_exhausted", problem(t, d.get(http.StatusServiceUnavailable, "GET /api/v1/events", "", "")))
}

// asAgent is the environment variable that makes a test program an agent's server, with its state in that home.
const asAgent = "HTTPAPI_PLAY_AGENT"

// playAgent asks for a workflow of each name that it reads on its standard input, and says when it did.
func playAgent(home string) error {
	c := local.Config{Trust: nopolicy.Trust(home), Dir: home, Options: person.ByCaller(local.Defaults()), Toolsets: []string{"projects"}, Packs: local.Packs{Root: home, Source: home}, Projects: local.Projects{Home: home}}
	humanOnly(&c)
	l, err := local.Open(c)
	if err != nil {
		return err
	}
	defer l.Close()
	call := tool.Call{Session: "agent", Client: "agent/1", Principal: policy.Principal{ID: "local", Grants: policy.All}, Tool: "list_workflows"}
	l.Call(context.Background(), call)
	for call.Tool = "create_workflow"; ; {
		var name string
		if n, _ := fmt.Scanln(&name); n == 0 {
			return nil
		}
		call.Args = json.RawMessage(fmt.Sprintf(`{"name":%q}`, name))
		began := time.Now()
		l.Call(context.Background(), call)
		fmt.Println(began.Format(time.RFC3339Nano))
	}
}

// TestAnotherProcessIsHeardOverTheWire by itself.
func TestAnotherProcessIsHeardOverTheWire(t *testing.T) {
	var dir string
	s := home(t, func(c *local.Config) {
		humanOnly(c)
		dir = c.Dir
	})
	events := s.open(t, "?events=ai-tool-confirmation", "person")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asAgent+"="+dir, "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := bufio.NewScanner(out)
	var took []time.Duration
	for i := range 5 {
		_, err := fmt.Fprintf(in, "w%d\n", i)
		require.NoError(t, err)
		q := events.until(adaptersevents.KindConfirmation)
		heard := time.Now()
		require.True(t, said.Scan())
		began, err := time.Parse(time.RFC3339Nano, said.Text())
		require.NoError(t, err)
		took = append(took, heard.Sub(began))
		assert.Equal(t, "create_workflow", q.data["toolName"])
		assert.Equal(t, "agent/1", q.data["client"])
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	slices.Sort(took)
	t.Logf("they took %s (budget 300ms)", took) // a busy machine is no fault
}

// TestTopicsOverTheWire are read as the visitor: who may not call the tool is told so.
func TestTopicsOverTheWire(t *testing.T) {
	s := home(t, nil)
	e := s.open(t, "?topics=processes", "narrow").until(adaptersevents.KindUnreadable)
	assert.Equal(t, "processes", e.data["topic"])
	assert.Equal(t, "tool_unknown", e.data["code"])
	e = s.open(t, "?process=run_none&run=none", "").until(adaptersevents.KindUnreadable)
	assert.Contains(t, []any{"process", "run"}, e.data["topic"])
}

// TestTheDocument is that of the visitor, and is not sent twice to a cache that has it.
func TestTheDocument(t *testing.T) {
	s := home(t, nil)
	r := s.send("GET /api/v1/openapi.json", "", "")
	require.Equal(t, 200, r.status)
	doc := object(t, r.body)
	assert.Equal(t, "3.1.0", doc["openapi"])
	assert.Contains(t, doc["paths"], "/api/v1/tools/deploy")
	assert.Equal(t, r.body, s.send("GET /api/v1/openapi.json", "", "person").body)
	assert.Equal(t, http.StatusNotModified, s.send("GET /api/v1/openapi.json", "", "", "If-None-Match", r.header.Get("ETag")).status)
	narrow := object(t, s.send("GET /api/v1/openapi.json", "", "narrow").body)
	assert.NotContains(t, narrow["paths"], "/api/v1/tools/deploy")
	assert.Contains(t, narrow["paths"], "/api/v1/tools/input")
	t.Logf("%d bytes", len(r.body))
}
