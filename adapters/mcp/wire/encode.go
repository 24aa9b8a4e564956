package wire

import (
	"encoding/json"
	"strconv"
)

// Frame appends the message body to dst in the form of replies: with a Content-Length header and no line end, or as one line.
func Frame(dst, body []byte, framed bool) []byte {
	if framed {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
		dst = append(dst, "\r\n\r\n"...)
		return append(dst, body...)
	}
	return append(append(dst, body...), '\n')
}

// Result encodes a successful answer. The ID is written as it was read; nil becomes null.
func Result(id, result json.RawMessage) []byte {
	body := make([]byte, 0, len(id)+len(result)+40)
	body = appendID(body, id)
	body = append(body, `,"result":`...)
	if len(result) == 0 {
		body = append(body, "null"...)
	}
	body = append(body, result...)
	return append(body, '}')
}

// Failure encodes an error answer; data may be nil.
func Failure(id json.RawMessage, code int64, message string, data json.RawMessage) []byte {
	body := make([]byte, 0, len(id)+len(message)+len(data)+80)
	body = appendID(body, id)
	body = append(body, `,"error":{"code":`...)
	body = strconv.AppendInt(body, code, 10)
	body = append(body, `,"message":`...)
	text, err := json.Marshal(message)
	if err != nil { // a string always marshals
		text = []byte(`""`)
	}
	body = append(body, text...)
	if len(data) > 0 {
		body = append(body, `,"data":`...)
		body = append(body, data...)
	}
	return append(body, "}}"...)
}

func appendID(body []byte, id json.RawMessage) []byte {
	body = append(body, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(body, "null"...)
	}
	return append(body, id...)
}

// Array encodes the answers to a batch, in order.
func Array(answers [][]byte) []byte {
	size := 1 + len(answers)
	for _, a := range answers {
		size += len(a)
	}
	body := append(make([]byte, 0, size), '[')
	for i, a := range answers {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, a...)
	}
	return append(body, ']')
}
