package agentcmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Fields are the data of an answer that is shown in a line.
type Fields map[string]any

// Text is a field as text in one line; one that is not there is empty.
func (f Fields) Text(name string) string {
	if f[name] == nil {
		return ""
	}
	return command.Plain(fmt.Sprint(f[name]))
}

// Simple is a change that a line or two say.
func (d Desk) Simple(cmd *cobra.Command, name tool.Name, args Arguments, say func(data Fields, done bool)) error {
	_, err := d.Alter(cmd, Change{Tool: name, Args: args, Draw: func(data json.RawMessage, done bool) error {
		f, err := Read[Fields](data)
		if err == nil {
			say(f, done)
		}
		return err
	}})
	return err
}
