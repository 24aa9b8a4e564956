package sandboxfile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/sandbox"
)

// schema is what a new file declares itself to be, so that editors can check and complete it.
const schema = "https://opencode.ai/config.json"

var key = []string{"model"}

// modelIn returns the value of the document's own model, nil when it has none.
func modelIn(text []byte) (json.RawMessage, error) {
	values, err := docedit.Editor{}.Values(docedit.JSONC, text, [][]string{key})
	return values[0], err
}

// withModel returns the document with that model and everything else as it was; no document at all becomes a new one.
func withModel(text []byte, model string) ([]byte, error) {
	entries := []docedit.Entry{{Path: key, Value: quoted(model)}}
	if text == nil {
		entries = append([]docedit.Entry{{Path: []string{"$schema"}, Value: quoted(schema)}}, entries...)
	}
	return docedit.Editor{}.Set(docedit.JSONC, text, entries)
}

// quoted is text as JSON that users like to read: < and & stay.
func quoted(text string) json.RawMessage {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // text always encodes
	return bytes.TrimSpace(out.Bytes())
}

// position is where a parser found something wrong. (It is compiled when it is needed, not at every start.)
const position = `line (\d+), column (\d+)(?:: )?`

// unusable says what is wrong with a file in the form that editors jump to: file:line:column.
func unusable(path string, err error) error {
	why := strings.TrimPrefix(fault.From(err).Message, "the document is not JSON: ")
	where := path
	if at := regexp.MustCompile(position).FindStringSubmatchIndex(why); at != nil {
		where += ":" + why[at[2]:at[3]] + ":" + why[at[4]:at[5]]
		why = why[:at[0]] + why[at[1]:]
	}
	return sandbox.ErrConfig.WithMessage("%s is invalid: %s", where, why)
}
