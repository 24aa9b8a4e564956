//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A step is one tool call of a scripted model: a tool by its own name, and arguments worked out from the results so far.
type step struct {
	tool string
	args func(results []string) map[string]any
}

// model is a model server on this machine that makes the calls of a script, one a turn, and then says that it is done. It speaks the four protocols with
// which the hosts speak to models, as far as they need. What it has said is told by the results that a request carries, so every session starts the
// script afresh.
type model struct {
	URL string

	server *http.Server
	mu     sync.Mutex
	steps  []step
	by     map[string][]step // by what the user said last, for sessions side by side; nil: steps are for every session
	heard  bool              // a request has come
	told   []string          // the results that the latest request carried
	odd    []string          // what a host wanted and could not have
	all    []byte            // every request since play
}

// done is what the model says after the last step.
const done = "The script is done."

func newModel() (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{URL: "http://" + l.Addr().String()}
	m.server = &http.Server{Handler: m} //nolint:gosec // only the hosts of this run are near
	go m.server.Serve(l)                //nolint:errcheck // it ends with the program
	return m, nil
}

// play has the next session follow these steps.
func (m *model) play(steps ...step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps, m.heard, m.told, m.odd, m.all = steps, false, nil, nil, nil
}

// plays has each turn follow the steps of the prompt that it answers, until play or plays is called again. Results count from that prompt on.
func (m *model) plays(by map[string][]step) {
	m.play()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by = by
}

// asked reports whether a host has asked for a turn.
func (m *model) asked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard
}

// results returns those that the host has passed on so far.
func (m *model) results() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.told)
}

// complaints returns what went wrong on the model's side.
func (m *model) complaints() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.odd)
}

// everything returns every text in the requests since play.
func (m *model) everything() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.all)
}

// A reply is one turn of the model: a tool call, or a text.
type reply struct {
	id    int
	space string // the namespace of the tool, where a protocol has some
	tool  string
	args  map[string]any
	text  string
}

// offer is a tool as a host offers it.
type offer struct{ space, name string }

// next returns the model's turn after these results, with these tools.
func (m *model) next(offers []offer, q request) reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	steps, results := m.steps, q.results()
	if m.by != nil {
		var prompt string
		prompt, results = q.latest()
		for text, one := range m.by {
			if strings.Contains(prompt, text) {
				steps = one
			}
		}
	}
	r := reply{id: len(results) + 1, text: done}
	if len(offers) == 0 { // a host that wants a title, or the like
		return reply{id: r.id, text: "{}"}
	}
	m.heard, m.told = true, results
	if len(results) > 0 { // as models do
		r.text += " I was told: " + results[len(results)-1]
	}
	if len(results) >= len(steps) {
		return r
	}
	want := steps[len(results)]
	for _, o := range offers {
		if o.name == want.tool || strings.HasSuffix(o.name, "_"+want.tool) {
			r.space, r.tool, r.args = o.space, o.name, want.args(results)
			return r
		}
	}
	r.text = "the host does not offer " + want.tool
	m.odd = append(m.odd, r.text)
	return r
}

// request is what is read of a host's request, in whichever protocol.
type request struct {
	Model    string
	Stream   bool
	Tools    []any // all of them
	Messages []struct {
		Role    string
		Content any
	} // Anthropic's messages, and OpenAI's chat completions
	Input    any // OpenAI's responses: items, or a text
	Contents []struct {
		Parts []struct{ FunctionResponse *struct{ Response any } }
	} // Gemini's generateContent
}

// offers returns the tools in a list, wherever a protocol puts their names.
func offers(list []any, space string) (out []offer) {
	for _, item := range list {
		t, _ := item.(map[string]any)
		name, _ := t["name"].(string)
		if f, ok := t["function"].(map[string]any); ok {
			name, _ = f["name"].(string)
		}
		inner, _ := t["tools"].([]any)
		if declared, ok := t["functionDeclarations"].([]any); ok {
			inner = declared
		}
		if inner != nil {
			out = append(out, offers(inner, name)...)
		} else if name != "" {
			out = append(out, offer{space, name})
		}
	}
	return out
}

// results returns those of tools in a request, in their order.
func (q request) results() (out []string) {
	for _, m := range q.Messages {
		if m.Role == "tool" {
			out = append(out, flat(m.Content))
		}
		blocks, _ := m.Content.([]any)
		for _, b := range blocks {
			if block, _ := b.(map[string]any); block["type"] == "tool_result" {
				out = append(out, flat(block["content"]))
			}
		}
	}
	items, _ := q.Input.([]any)
	for _, i := range items {
		if item, _ := i.(map[string]any); item["type"] == "function_call_output" {
			out = append(out, flat(item["output"]))
		}
	}
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				out = append(out, flat(p.FunctionResponse.Response))
			}
		}
	}
	return out
}

// latest returns what the user said last in chat completions, and the results since.
func (q request) latest() (prompt string, results []string) {
	for _, m := range q.Messages {
		switch m.Role {
		case "user":
			prompt, results = flat(m.Content), nil
		case "tool":
			results = append(results, flat(m.Content))
		}
	}
	return prompt, results
}

// flat returns every text in a value, whatever it is wrapped in.
func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var texts []string
		for _, one := range v {
			texts = append(texts, flat(one))
		}
		return strings.Join(texts, "\n")
	case map[string]any:
		var texts []string
		for name, one := range v {
			if name != "type" {
				texts = append(texts, flat(one))
			}
		}
		slices.Sort(texts)
		return strings.Join(texts, "\n")
	}
	return ""
}

// ServeHTTP answers in the protocol that the path belongs to.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var q request
	if err == nil && r.Method == http.MethodPost {
		_ = json.Unmarshal(body, &q) // what cannot be read offers no tools, and gets a text
	}
	var whole any
	if json.Unmarshal(body, &whole) == nil {
		m.mu.Lock()
		m.all = append(append(m.all, flat(whole)...), '\n')
		m.mu.Unlock()
	}
	turn := func() reply { return m.next(offers(q.Tools, ""), q) }
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"):
		answer(w, object{"input_tokens": 1})
	case strings.HasSuffix(path, "/messages"):
		messages(w, q, turn())
	case strings.HasSuffix(path, "/responses"):
		responses(w, turn())
	case strings.HasSuffix(path, "/chat/completions"):
		completions(w, q, turn())
	case strings.Contains(path, "enerateContent"):
		generate(w, strings.Contains(path, ":stream"), turn())
	default:
		answer(w, object{"data": []any{}, "models": []any{}})
	}
}

type object = map[string]any

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// events begins a stream of server-sent events; each call sends one.
func events(w http.ResponseWriter) func(name string, v any) {
	w.Header().Set("Content-Type", "text/event-stream")
	return func(name string, v any) {
		text, _ := json.Marshal(v)
		if name != "" {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
}

func (r reply) arguments() string {
	text, _ := json.Marshal(r.args)
	return string(text)
}

// messages is Anthropic's protocol.
func messages(w http.ResponseWriter, q request, r reply) {
	id, usage := fmt.Sprintf("msg_%d", r.id), object{"input_tokens": 1, "output_tokens": 1}
	block, delta, why := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": r.text}, "end_turn"
	if r.tool != "" {
		block = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", r.id), "name": r.tool, "input": object{}}
		delta, why = object{"type": "input_json_delta", "partial_json": r.arguments()}, "tool_use"
	}
	message := object{"id": id, "type": "message", "role": "assistant", "model": q.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !q.Stream {
		if r.tool != "" {
			block["input"] = r.args
		} else {
			block["text"] = r.text
		}
		message["content"], message["stop_reason"] = []any{block}, why
		answer(w, message)
		return
	}
	send := events(w)
	send("message_start", object{"type": "message_start", "message": message})
	send("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
	send("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	send("content_block_stop", object{"type": "content_block_stop", "index": 0})
	send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": why, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{"type": "message_stop"})
}

// responses is OpenAI's newer protocol.
func responses(w http.ResponseWriter, r reply) {
	id := fmt.Sprintf("resp_%d", r.id)
	item := object{"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%d", r.id), "content": []any{object{"type": "output_text", "text": r.text}}}
	if r.tool != "" {
		item = object{"type": "function_call", "id": fmt.Sprintf("fc_%d", r.id), "call_id": fmt.Sprintf("call_%d", r.id), "name": r.tool, "arguments": r.arguments()}
		if r.space != "" {
			item["namespace"] = r.space
		}
	}
	send := events(w)
	send("response.created", object{"type": "response.created", "response": object{"id": id}})
	send("response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	usage := object{"input_tokens": 1, "input_tokens_details": nil, "output_tokens": 1, "output_tokens_details": nil, "total_tokens": 2}
	send("response.completed", object{"type": "response.completed", "response": object{"id": id, "usage": usage}})
}

// completions is OpenAI's older protocol.
func completions(w http.ResponseWriter, q request, r reply) {
	said, why := object{"role": "assistant", "content": r.text}, "stop"
	if r.tool != "" {
		call := object{"index": 0, "id": fmt.Sprintf("call_%d", r.id), "type": "function", "function": object{"name": r.tool, "arguments": r.arguments()}}
		said, why = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	whole := func(kind, part string, said object, why any) object {
		return object{"id": fmt.Sprintf("cmpl_%d", r.id), "object": kind, "created": 1, "model": q.Model,
			"choices": []any{object{"index": 0, part: said, "finish_reason": why}}}
	}
	if !q.Stream {
		answer(w, whole("chat.completion", "message", said, why))
		return
	}
	send := events(w)
	send("", whole("chat.completion.chunk", "delta", said, nil))
	send("", whole("chat.completion.chunk", "delta", object{}, why))
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// generate is Gemini's protocol.
func generate(w http.ResponseWriter, stream bool, r reply) {
	part := object{"text": r.text}
	if r.tool != "" {
		part = object{"functionCall": object{"name": r.tool, "args": r.args}}
	}
	v := object{
		"candidates":    []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	}
	if !stream {
		answer(w, v)
		return
	}
	events(w)("", v)
}
