package agentcmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

// fields are the data of an answer that is shown in a line.
type fields map[string]any

// Text is a field as text in one line; one that is not there is empty.
func (f fields) Text(name string) string {
	if f[name] == nil {
		return ""
	}
	return command.Plain(fmt.Sprint(f[name]))
}

// Simple is a change that a line or two say.
func (d Runner) Simple(cmd *cobra.Command, name tool.Name, args command.Arguments, say func(data fields, done bool)) error {
	_, err := d.Alter(cmd, change{Tool: name, Args: args, Draw: func(data json.RawMessage, done bool) error {
		f, err := DecodeData[fields](data)
		if err == nil {
			say(f, done)
		}
		return err
	}})
	return err
}
