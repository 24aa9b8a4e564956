package docedit

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/domain/deployment/plan"
)

// Documents is an Editor in the words of deployments: deployport.Documents.
type Documents struct{ editor Editor }

// Values implements deployport.Documents.
func (d Documents) Values(f plan.Format, doc []byte, keys []plan.Key) (map[int]json.RawMessage, error) {
	return d.editor.Values(string(f), doc, paths(keys))
}

// Made implements deployport.Documents.
func (d Documents) Made(f plan.Format, doc []byte, keys []plan.Key) ([][]string, error) {
	return d.editor.Made(string(f), doc, entries(keys))
}

// Set implements deployport.Documents.
func (d Documents) Set(f plan.Format, doc []byte, keys []plan.Key) ([]byte, error) {
	return d.editor.Set(string(f), doc, entries(keys))
}

// Remove implements deployport.Documents.
func (d Documents) Remove(f plan.Format, doc []byte, keys []plan.Key, made [][]string) ([]byte, error) {
	return d.editor.Remove(string(f), doc, paths(keys), made)
}

func paths(keys []plan.Key) [][]string {
	out := make([][]string, len(keys))
	for i, k := range keys {
		out[i] = k.Path
	}
	return out
}

func entries(keys []plan.Key) []Entry {
	out := make([]Entry, len(keys))
	for i, k := range keys {
		out[i] = Entry{Path: k.Path, Value: k.Value}
	}
	return out
}
