package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/countersign-dev/countersign/adapters/chat"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/policy"
)

// A host's loop: what the model asks for is carried out or shown to the user, and every call of a turn gets its result.
func Example() {
	dir, _ := os.MkdirTemp("", "chat-")
	defer os.RemoveAll(dir)
	host, err := local.Open(local.Config{Dir: dir, Packs: local.Packs{Root: dir, Source: "."}, Options: local.Defaults()})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	h, err := chat.New(host.App, chat.Options{Principal: policy.Principal{ID: "me", Grants: policy.All}, Client: "my-chat 1.0"})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, message := range model(h.OpenAI("/home/me/shop")) { // sends the tools along, and yields what the assistant says
		calls, err := chat.OpenAICalls(message)
		if err != nil {
			log.Fatal(err)
		}
		var results []chat.Result
		for _, c := range calls {
			r := h.Execute(ctx, c)
			if p := r.Pending; p != nil && ask(p.Prompt, p.Context) {
				r = h.ExecuteConfirmed(ctx, p.CallID)
			} else if p != nil {
				r = h.Deny(ctx, p.CallID, "not now")
			}
			results = append(results, r)
		}
		for i, m := range chat.OpenAIResults(results...) { // go back to the model
			fmt.Println(m.Role, m.ToolCallID, results[i].Success)
		}
	}
	// Output: tool call_1 true
}

// model stands for a provider's API: it is given the tools, and calls one of them.
func model([]chat.OpenAITool) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"output","arguments":"{\"action\":\"list\"}"}}]}`)}
}

// ask stands for a dialog.
func ask(string, json.RawMessage) bool { return false }
