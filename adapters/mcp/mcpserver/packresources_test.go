package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

var (
	me = policy.Principal{ID: "me", Grants: policy.All}
	by = mcpserver.Caller{Principal: me, Session: "s"}
)

// openPackResources returns a real core over a temporary directory with one source file.
func openPackResources(t *testing.T, change ...func(*app.Options)) (*mcpserver.Packs, *local.Local) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc A() {}\n"), 0o600))
	c := local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: filepath.Join(dir, "home"), Options: person.ByCaller(local.Defaults()), Packs: local.Packs{Root: filepath.Join(dir, "store"), Source: dir}}
	for _, f := range change {
		f(&c.Options)
	}
	l, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return mcpserver.NewPackResources(l.App, tool.Call{Principal: me, Session: "s"}), l
}

// create makes a pack and returns its id.
func create(t *testing.T, p *mcpserver.Packs, args string) string {
	t.Helper()
	o := p.Call(t.Context(), tool.Call{Principal: me, Session: "s", Tool: "input", Args: json.RawMessage(args)})
	require.NoError(t, o.Err)
	var made struct{ Payload struct{ ID string } }
	require.NoError(t, json.Unmarshal(o.Value, &made))
	return made.Payload.ID
}

func TestPacksAreListedAPageAtATime(t *testing.T) {
	p, _ := openPackResources(t)
	for i := range 101 {
		create(t, p, fmt.Sprintf(`{"action":"create","ttl_minutes":5,"name":"pack-%03d","title":"Pack\n%d"}`, i, i))
	}
	page, next, err := p.Resources().List(t.Context(), by, "")
	require.NoError(t, err)
	assert.Len(t, page, 100)
	assert.Equal(t, "pack-100", page[0].Name, "the newest comes first")
	assert.Equal(t, "Pack 100", page[0].Title, "a title stays on one line")
	assert.Contains(t, page[0].Description, "draft, revision 1, expires in 4m")
	rest, last, err := p.Resources().List(t.Context(), by, next)
	require.NoError(t, err)
	assert.Len(t, rest, 1)
	assert.Empty(t, last)
	for _, bad := range []string{"x", "-1", "1e3"} {
		_, _, err = p.Resources().List(t.Context(), by, bad)
		require.ErrorIs(t, err, mcpserver.ErrCursor)
	}
}

func TestAPackIsReadByItsURI(t *testing.T) {
	p, _ := openPackResources(t)
	id := create(t, p, `{"action":"create","ttl_minutes":5,"title":"Evidence"}`)
	content, err := p.Resources().Read(t.Context(), by, "countersign://packs/"+id)
	require.NoError(t, err)
	assert.Equal(t, "text/markdown", content.MIMEType)
	assert.Contains(t, content.Text, "# Context pack: Evidence")
	for _, uri := range []string{"countersign://packs/", "countersign://packs/pk_aaaaaaaa", "countersign://packs/../x", "file:///etc/passwd", "countersign://packs/" + id + "?x"} {
		_, err := p.Resources().Read(t.Context(), by, uri)
		require.Error(t, err, uri)
		assert.Equal(t, fault.NotFound, fault.From(err).Kind, uri)
	}
}

func TestIdsAndNamesComplete(t *testing.T) {
	p, _ := openPackResources(t)
	id := create(t, p, `{"action":"create","ttl_minutes":5,"name":"login bug"}`)
	create(t, p, `{"action":"create","ttl_minutes":5,"name":"other"}`)
	complete := func(ref, argument, value string) []string {
		values, more, err := p.Complete(t.Context(), by, mcpserver.Completion{Ref: ref, Argument: argument, Value: value})
		require.NoError(t, err)
		assert.False(t, more)
		return values
	}
	assert.Equal(t, []string{id}, complete("countersign://packs/{id}", "id", id[:6]))
	assert.Equal(t, []string{id}, complete("countersign://packs/{id}", "id", "login"), "a name leads to its id")
	assert.Equal(t, []string{"login bug"}, complete("handoff", "pack", "lo"))
	assert.Empty(t, complete("handoff", "task", "lo"))
	assert.Empty(t, complete("else", "pack", "lo"))
}

func TestTheHandoffCarriesTaskAndPack(t *testing.T) {
	p, _ := openPackResources(t)
	id := create(t, p, `{"action":"create","ttl_minutes":5,"name":"login bug"}`)
	text, err := p.Prompts().Render(t.Context(), by, "handoff", map[string]string{"pack": "login bug", "task": "Fix it."})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(text, "Fix it.\n"))
	assert.Contains(t, text, "- id: "+id)
	_, err = p.Prompts().Render(t.Context(), by, "handoff", nil)
	require.ErrorIs(t, err, mcpserver.ErrPrompt)
}

func TestChangesAreTold(t *testing.T) {
	p, _ := openPackResources(t)
	var told []string
	p.Watch(func(uri string) { told = append(told, uri) })
	id := create(t, p, `{"action":"create","ttl_minutes":5}`)
	call := func(args string) {
		p.Call(t.Context(), tool.Call{Principal: me, Session: "s", Tool: "input", Args: json.RawMessage(args)})
	}
	call(`{"action":"get","id":"` + id + `"}`)
	call(`{"action":"set_meta","id":"` + id + `","expected_revision":9,"title":"x"}`)
	call(`{"action":"set_meta","id":"` + id + `","expected_revision":1,"title":"x","terse":true}`)
	uri := "countersign://packs/" + id
	assert.Equal(t, []string{uri, uri}, told, "the create and the edit; neither the read nor the conflict")
}

func TestWithoutTheToolsThereIsNothingToOffer(t *testing.T) {
	_, l := openPackResources(t, func(o *app.Options) { o.Serve = app.Selection{Exclude: []string{"input"}} })
	assert.False(t, mcpserver.ServesPacks(l.App))
	_, l = openPackResources(t)
	assert.True(t, mcpserver.ServesPacks(l.App))
}

// counting is a core that counts the calls it is asked for.
type counting struct {
	*app.App
	calls int
}

// Call returns the app's.
func (c *counting) Call(ctx context.Context, call tool.Call) tool.Outcome {
	c.calls++
	return c.App.Call(ctx, call)
}

// Whoever is not served the tool that lists packs sees none, and no call of theirs is refused for it, which would be on record: hosts list resources by
// themselves.
func TestNobodyIsRefusedAList(t *testing.T) {
	p, l := openPackResources(t)
	create(t, p, `{"action":"create","ttl_minutes":5,"name":"pack"}`)
	core := &counting{App: l.App}
	p = mcpserver.NewPackResources(core, tool.Call{})
	for toolset, want := range map[string]int{"packs": 1, "deployments": 0} {
		core.calls = 0
		narrow := by
		narrow.Within = []tool.Restriction{{Toolsets: []string{toolset}}}
		page, _, err := p.Resources().List(t.Context(), narrow, "")
		require.NoError(t, err)
		assert.Len(t, page, want, toolset)
		assert.Equal(t, want, core.calls, toolset)
	}
}

func TestAReadWaitsForTheChangesBeforeIt(t *testing.T) {
	p, _ := openPackResources(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	s := mcpserver.New(ctx, p, mcpserver.Options{Principal: me, Session: "s", Source: mcpserver.PackToolset, Resources: p.Resources(), Prompts: p.Prompts(), Completer: p})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.ServeStdio(in, out, time.Minute)
		out.Close()
	}()
	c := stdiotest.Pipe(t, toServer, fromServer)
	c.Initialize("2025-06-18")
	c.SendBytes(`{"id":1,"method":"tools/call","params":{"name":"input","arguments":{"action":"create","ttl_minutes":5,"name":"first one"}}}` + "\n" +
		`{"id":2,"method":"resources/list"}` + "\n" + `{"id":3,"method":"prompts/get","params":{"name":"handoff","arguments":{"pack":"first one"}}}` + "\n" +
		`{"id":4,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"handoff"},"argument":{"name":"pack","value":"fi"}}}` + "\n")
	c.CloseStdin()
	answers := c.Rest()
	require.NoError(t, <-served)
	require.Len(t, answers, 4)
	for _, a := range answers {
		assert.Contains(t, string(a), "first one")
		assert.NotContains(t, string(a), `"error"`)
	}
}
