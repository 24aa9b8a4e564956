//go:build conformance

//lint:file-ignore SA1019 the suite still asks for what is deprecated in the protocol

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/color"
	"image/png"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// picture returns one red pixel.
func picture() []byte {
	dot := image.NewRGBA(image.Rect(0, 0, 1, 1))
	dot.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	_ = png.Encode(&b, dot) // a buffer takes everything
	return b.Bytes()
}

// sound returns a WAV file with one silent sample: 8 kHz, mono, 16 bits.
func sound() []byte {
	var b bytes.Buffer
	word := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) }
	b.WriteString("RIFF")
	word(uint32(38))
	b.WriteString("WAVEfmt ")
	word(uint32(16))
	word([2]uint16{1, 1})
	word([2]uint32{8000, 16000})
	word([2]uint16{2, 16})
	b.WriteString("data")
	word(uint32(2))
	word(int16(0))
	return b.Bytes()
}

func embedded(uri, media, text string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: media, Text: text}}
}

// contents are tools that answer with something else than text, and those that say something on the way.
func contents() []mcpserver.Fixture {
	answer := func(all ...mcp.Content) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: all}, nil
		}
	}
	dot := &mcp.ImageContent{Data: picture(), MIMEType: "image/png"}
	return []mcpserver.Fixture{
		fixture("test_image_content", "Answers with an image.", "", answer(dot)),
		fixture("test_audio_content", "Answers with a sound.", "", answer(&mcp.AudioContent{Data: sound(), MIMEType: "audio/wav"})),
		fixture("test_embedded_resource", "Answers with a resource.", "", answer(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))),
		fixture("test_multiple_content_types", "Answers with a text, an image and a resource.", "",
			answer(&mcp.TextContent{Text: "Multiple content types test:"}, dot, embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))),
		fixture("test_tool_with_logging", "Logs three times.", "", logging("Tool execution started", "Tool processing data", "Tool execution completed")),
		fixture("test_logging_tool", "Logs, for those who want to know.", "", logging("Tool execution started")),
		fixture("test_missing_capability", "Needs a client that samples.", "", missing),
		fixture("test_reconnection", "Answers a moment later.", "", late),
	}
}

func logging(lines ...string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, line := range lines {
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
				return failed(err), nil
			}
			if err := moment(ctx); err != nil {
				return nil, err
			}
		}
		return say("logged"), nil
	}
}

// missing rejects a client that has not said that it samples (SEP-2575).
func missing(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
		return say("the client samples"), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "this needs a client that samples", Data: data}
}

// late answers on the stream of its call: there is none that could be taken up again.
func late(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return say("answered on the stream of the call"), moment(ctx)
}
