package project

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/process"
)

// The bounds of inputs; ours.
const (
	maxInputs     = 50
	maxInputBytes = 8192 // of a value
)

// The types of inputs.
const (
	InputString  = "string" // also the default
	InputNumber  = "number"
	InputBoolean = "boolean"
	InputChoice  = "choice"
)

// Input is a value that the caller of a workflow may set. Its steps read it from the environment variable with its name: it is never inserted into
// the text of a command.
type Input struct {
	Name        string   `json:"name"`
	Type        string   `json:"type,omitempty" jsonschema:"enum=string,enum=number,enum=boolean,enum=choice"`
	Description string   `json:"description,omitempty"`
	Default     *string  `json:"default,omitempty"` // none: a value is required
	Choices     []string `json:"choices,omitempty"` // of a choice
}

// SetInputs replaces all inputs. It fails with project.ErrArgument and process.ErrEnv, and leaves the workflow unchanged then.
func (w *Workflow) SetInputs(inputs []Input) error {
	if len(inputs) > maxInputs {
		return ErrArgument.WithMessage("%d inputs; at most %d are allowed", len(inputs), maxInputs)
	}
	seen := map[string]bool{}
	for _, in := range inputs {
		if seen[in.Name] {
			return ErrArgument.WithMessage("two inputs have the name %q", in.Name)
		}
		seen[in.Name] = true
		if err := in.check(); err != nil {
			return err
		}
	}
	w.Inputs = slices.Clone(inputs)
	return nil
}

func (in Input) check() error {
	if err := CheckText("the name of an input", in.Name, MaxName); err != nil {
		return err
	}
	if err := process.CheckEnv(map[string]string{in.Name: ""}); err != nil {
		return err
	}
	if err := CheckText("description", in.Description, MaxDescription); err != nil {
		return err
	}
	switch in.Type {
	case "", InputString, InputNumber, InputBoolean:
		if len(in.Choices) > 0 {
			return ErrArgument.WithMessage("input %q has choices, but its type is not choice", in.Name)
		}
	case InputChoice:
		if len(in.Choices) == 0 {
			return ErrArgument.WithMessage("input %q has the type choice, but no choices", in.Name)
		}
	default:
		return ErrArgument.WithMessage("unknown input type %q; use string, number, boolean or choice", in.Type)
	}
	if in.Default != nil {
		return in.accept(*in.Default)
	}
	return nil
}

// accept fails with project.ErrArgument if the value is invalid for the input.
func (in Input) accept(value string) error {
	if err := CheckText("input "+strconv.Quote(in.Name), value, maxInputBytes); err != nil {
		return err
	}
	switch in.Type {
	case InputNumber:
		if !json.Valid([]byte(value)) || strings.ContainsAny(value, "\"[{tfn \n\t\r") {
			return ErrArgument.WithMessage("input %q must be a number, not %q", in.Name, value)
		}
	case InputBoolean:
		if value != "true" && value != "false" {
			return ErrArgument.WithMessage("input %q must be true or false, not %q", in.Name, value)
		}
	case InputChoice:
		if !slices.Contains(in.Choices, value) {
			return ErrArgument.WithMessage("input %q must be one of %s, not %q", in.Name, strings.Join(in.Choices, ", "), value)
		}
	}
	return nil
}

// Values returns the value of every input of a workflow: the given one, else its default. It fails with project.ErrArgument for an invalid value, and
// for an input without a value.
func (w Workflow) Values(given map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, in := range w.Inputs {
		value, said := given[in.Name]
		if !said && in.Default == nil {
			return nil, ErrArgument.WithMessage("workflow %q needs the input %q; give it a value with inputs", w.Name, in.Name)
		}
		if !said {
			value = *in.Default
		}
		if err := in.accept(value); err != nil {
			return nil, err
		}
		out[in.Name] = value
	}
	return out, nil
}

// CheckInputs fails with project.ErrArgument for a value whose input none of these workflows has.
func CheckInputs(given map[string]string, workflows ...Workflow) error {
	var known []string
	for _, w := range workflows {
		for _, in := range w.Inputs {
			known = append(known, in.Name)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		if len(known) == 0 {
			return ErrArgument.WithMessage("input %q not found: the workflow has no inputs", name)
		}
		return ErrArgument.WithMessage("input %q not found; inputs: %s", name, strings.Join(known, ", "))
	}
	return nil
}
