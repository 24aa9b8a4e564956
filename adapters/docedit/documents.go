package docedit

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// Documents is an Editor in the words of deployments: deployport.Documents.
type Documents struct{ editor Editor }

// Values implements deployport.Documents.
func (d Documents) Values(f deployment.Format, doc []byte, keys []deployment.Key) (map[int]json.RawMessage, error) {
	return d.editor.Values(string(f), doc, paths(keys))
}

// Made implements deployport.Documents.
func (d Documents) Made(f deployment.Format, doc []byte, keys []deployment.Key) ([][]string, error) {
	return d.editor.Made(string(f), doc, entries(keys))
}

// Set implements deployport.Documents.
func (d Documents) Set(f deployment.Format, doc []byte, keys []deployment.Key) ([]byte, error) {
	return d.editor.Set(string(f), doc, entries(keys))
}

// Remove implements deployport.Documents.
func (d Documents) Remove(f deployment.Format, doc []byte, keys []deployment.Key, made [][]string) ([]byte, error) {
	return d.editor.Remove(string(f), doc, paths(keys), made)
}

func paths(keys []deployment.Key) [][]string {
	out := make([][]string, len(keys))
	for i, k := range keys {
		out[i] = k.Path
	}
	return out
}

func entries(keys []deployment.Key) []Entry {
	out := make([]Entry, len(keys))
	for i, k := range keys {
		out[i] = Entry{Path: k.Path, Value: k.Value}
	}
	return out
}
