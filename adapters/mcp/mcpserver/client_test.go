package mcpserver_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// The SDK's own client is content in every era.
func TestOfficialClient(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			d := newDemo()
			s := connect(t, d, era, nil, nil)
			assert.Equal(t, era, s.InitializeResult().ProtocolVersion)
			ctx := context.Background()
			list, err := s.ListTools(ctx, nil)
			require.NoError(t, err)
			assert.Len(t, list.Tools, len(d.specs))
			r := call(t, s, "echo", map[string]any{"a": 1})
			assert.False(t, r.IsError)
			assert.Contains(t, text(r), `"client":"client 9"`)
			assert.Contains(t, text(r), `"session":"s1"`)

			_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: "no_such"})
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire)
			assert.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
			_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: "panics"})
			require.ErrorAs(t, err, &wire)
			assert.EqualValues(t, jsonrpc.CodeInternalError, wire.Code)
			_, err = s.ListResources(ctx, nil)
			require.Error(t, err, "not announced, not served")

			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			_, err = s.CallTool(short, &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"ms": 60000}})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Eventually(t, func() bool { return d.running.Load() == 0 }, time.Minute, time.Millisecond, "the server stops it")
		})
	}
}

// No more than so many calls run at once, however many are sent.
func TestConcurrencyIsBounded(t *testing.T) {
	d := newDemo()
	r, w := serve(t, d, func(o *mcpserver.Options) { o.Concurrency = 3 })
	c := stdiotest.Pipe(t, w, r)
	const calls = 12
	for range calls {
		c.Send(callTool("1", "gate", `{}`))
	}
	require.Eventually(t, func() bool { return d.running.Load() == 3 }, time.Minute, time.Millisecond)
	close(d.gate)
	for range calls {
		require.Equal(t, "1:ok", gist(t, c.Recv()))
	}
	assert.EqualValues(t, 3, d.peak.Load())
}

// resourceSource is a source of resources, prompts and completions.
type resourceSource struct {
	changed func(string)
	reads   atomic.Int64
}

var errAbsent = fault.New(fault.NotFound, "shelf_absent", "there is no such thing on the shelf")

func (*resourceSource) List(_ context.Context, _ mcpserver.Caller, cursor string) ([]mcpserver.Resource, string, error) {
	switch cursor {
	case "":
		return []mcpserver.Resource{{URI: "test://things/a", Name: "a", Title: "A", MIMEType: "text/markdown"}}, "2", nil
	case "2":
		return []mcpserver.Resource{{URI: "test://things/b", Name: "b"}}, "", nil
	}
	return nil, "", fault.New(fault.Invalid, "shelf_cursor", "there is no such page")
}

func (s *resourceSource) Read(_ context.Context, _ mcpserver.Caller, uri string) (mcpserver.Content, error) {
	s.reads.Add(1)
	if strings.HasSuffix(uri, "/broken") {
		return mcpserver.Content{}, errors.New("a cause nobody should see")
	}
	if !strings.HasSuffix(uri, "/a") {
		return mcpserver.Content{}, errAbsent
	}
	return mcpserver.Content{MIMEType: "text/markdown", Text: "# A"}, nil
}

func (*resourceSource) Fixed() []mcpserver.Resource { return nil }

func (*resourceSource) Templates() []mcpserver.Resource {
	return []mcpserver.Resource{{URI: "test://things/{id}", Name: "thing", Description: "A thing."}}
}

func (s *resourceSource) Watch(changed func(string)) { s.changed = changed }

func (*resourceSource) Complete(_ context.Context, _ mcpserver.Caller, c mcpserver.Completion) ([]string, bool, error) {
	if c.Ref == "test://things/{id}" && c.Argument == "id" {
		return []string{c.Value + "x"}, true, nil
	}
	return nil, false, nil
}

type prompts struct{}

func (prompts) List() []mcpserver.Prompt {
	return []mcpserver.Prompt{{Name: "greet", Title: "Greet", Description: "Greets.", Arguments: []mcpserver.Argument{{Name: "who", Required: true}}}}
}

func (prompts) Render(_ context.Context, _ mcpserver.Caller, _ string, args map[string]string) (string, error) {
	if args["who"] == "" {
		return "", fault.New(fault.Invalid, "greet_whom", "who is to be greeted?")
	}
	return "Hello " + args["who"], nil
}

func TestResourcesPromptsAndCompletion(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			things := &resourceSource{}
			s := connect(t, newDemo(), era, func(o *mcpserver.Options) { o.Resources, o.Prompts, o.Completer = things, prompts{}, things }, nil)
			ctx := context.Background()
			caps := s.InitializeResult().Capabilities
			assert.True(t, caps.Resources.Subscribe)
			assert.NotNil(t, caps.Prompts)
			assert.NotNil(t, caps.Completions)

			var names []string
			for r, err := range s.Resources(ctx, nil) {
				require.NoError(t, err)
				names = append(names, r.Name)
			}
			assert.Equal(t, []string{"a", "b"}, names)
			templates, err := s.ListResourceTemplates(ctx, nil)
			require.NoError(t, err)
			assert.Equal(t, "test://things/{id}", templates.ResourceTemplates[0].URITemplate)

			read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://things/a"})
			require.NoError(t, err)
			assert.Equal(t, "# A", read.Contents[0].Text)
			for uri, code := range map[string]int64{"test://things/c": 0, "other://x": 0, "test://things/broken": jsonrpc.CodeInternalError} {
				_, err = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
				var wire *jsonrpc.Error
				require.ErrorAs(t, err, &wire)
				assert.NotContains(t, wire.Message, "nobody should see")
				if code != 0 {
					assert.Equal(t, code, wire.Code)
				}
			}

			got, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ada"}})
			require.NoError(t, err)
			assert.Equal(t, "Hello Ada", got.Messages[0].Content.(*mcp.TextContent).Text)
			_, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"})
			require.ErrorContains(t, err, "who is to be greeted?")

			done, err := s.Complete(ctx, &mcp.CompleteParams{
				Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "test://things/{id}"}, Argument: mcp.CompleteParamsArgument{Name: "id", Value: "p"},
			})
			require.NoError(t, err)
			assert.Equal(t, []string{"px"}, done.Completion.Values)
			assert.True(t, done.Completion.HasMore)
		})
	}
}

// Changes of a resource reach those who asked for them; in the new era with the id of the subscription as
// the client wrote it.
func TestResourceUpdates(t *testing.T) {
	things := &resourceSource{}
	r, w := serve(t, newDemo(), func(o *mcpserver.Options) { o.Resources = things })
	c := stdiotest.Pipe(t, w, r)
	c.Initialize("2025-11-25")
	things.changed("test://things/a")
	require.Nil(t, c.Request("resources/subscribe", map[string]any{"uri": "test://things/a"}).Error)
	require.Empty(t, c.Notifications, "not told before it asked")
	things.changed("test://things/a")
	things.changed("test://things/b")
	assert.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://things/a"}}`, string(c.Recv()))
	require.Nil(t, c.Request("resources/unsubscribe", map[string]any{"uri": "test://things/a"}).Error)
	assert.Empty(t, c.Notifications)

	for _, id := range []string{`"listen:0"`, "7"} {
		things = &resourceSource{}
		r, w = serve(t, newDemo(), func(o *mcpserver.Options) { o.Resources = things })
		c = stdiotest.Pipe(t, w, r)
		c.Send(`{"id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://things/a"]},
			"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		assert.Contains(t, string(c.Recv()), `"io.modelcontextprotocol/subscriptionId":`+id, "acknowledged")
		things.changed("test://things/a")
		assert.Contains(t, string(c.Recv()), `"io.modelcontextprotocol/subscriptionId":`+id)
		c.CloseStdin()
		assert.Equal(t, id+":ok", gist(t, c.Recv()), "the subscription ends with the session, and is answered")
		assert.Empty(t, c.Rest())
	}
}

// A session leaves nothing behind, however it ends.
func TestNothingIsLeftBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, end := range []string{"", `{"method":"exit"}`, "garbage", callTool("9", "slow", `{"ms":50}`)} {
		t.Run("ending with "+end, func(t *testing.T) {
			r, w := serve(t, newDemo(), nil)
			c := stdiotest.Pipe(t, w, r)
			c.Initialize("2025-11-25")
			c.Call("echo", nil)
			c.Send(callTool("1", "slow", `{"ms":20}`))
			c.Send(end)
			c.CloseStdin()
			c.Rest()
		})
	}
}
