package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// exitJSON is the exit code of a command whose answer under --json has not the form that all commands promise.
const exitJSON = 99

// checkJSON makes every command that a script runs with --json keep the promise of all commands: stdout is one JSON document, an object or an array, none of whose texts is
// JSON again. It returns what turns the command's exit code into that of the test. The contracts' forms (tools call) and streams of documents are not looked at.
func checkJSON(args []string) (exit func(code int) int) {
	typed := args
	if end := slices.Index(typed, "--"); end >= 0 {
		typed = typed[:end]
	}
	line := strings.Join(typed, " ")
	streams := slices.Contains(typed, "serve") || slices.Contains(typed, "mcp") || slices.Contains(typed, "--follow") || slices.Contains(typed, "-f") || strings.Contains(line, "audit export")
	if !slices.Contains(typed, "--json") || streams || strings.Contains(line, "tools call") {
		return func(code int) int { return code }
	}
	out, in, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	stdout := os.Stdout
	os.Stdout = in
	var seen bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.MultiWriter(stdout, &seen), out)
		_, _ = io.Copy(io.Discard, out) // where nobody reads, the command is not to wait
	}()
	return func(code int) int {
		_ = in.Close()
		<-done
		if problem := jsonProblem(seen.Bytes()); problem != "" {
			fmt.Fprintf(os.Stderr, "countersign %s: %s\n%s\n", line, problem, seen.Bytes())
			return exitJSON
		}
		return code
	}
}

// jsonProblem says what is wrong with an output under --json; empty for nothing. A file that was written in its place leaves it empty.
func jsonProblem(output []byte) string {
	if len(output) == 0 {
		return ""
	}
	var doc any
	if err := json.Unmarshal(output, &doc); err != nil {
		return "stdout is not one JSON document: " + err.Error()
	}
	switch doc.(type) {
	case map[string]any, []any:
		return encodedTwice("", doc)
	}
	return "the document is neither an object nor an array"
}

// printed are the members that hold what programs printed, what they are started with, and what files contain, in whatever language.
var printed = []string{"stdout", "stderr", "output", "lines", "body", "content", "text", "diff", "snippet", "command"}

// encodedTwice names a text that is JSON in JSON.
func encodedTwice(path string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if slices.Contains(printed, name) {
				continue
			}
			if found := encodedTwice(path+"."+name, member); found != "" {
				return found
			}
		}
	case []any:
		for i, item := range v {
			if found := encodedTwice(fmt.Sprintf("%s[%d]", path, i), item); found != "" {
				return found
			}
		}
	case string:
		if inner := strings.TrimSpace(v); (strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) && json.Valid([]byte(inner)) {
			return path + " is JSON in a text: " + v
		}
	}
	return ""
}
