package planner

import (
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The timeouts of the tools: sources may have to be fetched, and many files written.
const (
	readTimeout   = 15 * time.Minute
	changeTimeout = 30 * time.Minute
)

// Report is the value of every tool, and what every plan shows: data of the tool's own type, and warnings.
type Report[T any] struct {
	Data     T        `json:"data"`
	Warnings []string `json:"warnings"`
}

// Reviewed marks reports as the basis of decisions: they are scanned for what a reader would not see.
func (Report[T]) Reviewed() {}

// NewReport returns data with those warnings, each once.
func NewReport[T any](data T, warnings ...string) Report[T] {
	return Report[T]{Data: data, Warnings: UniqueWarnings(warnings)}
}

// QuerySpec returns the spec of a tool that reads, with its published schema.
func QuerySpec(title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Class: policy.ClassRead, Effects: policy.Read | policy.Network, Timeout: readTimeout, Input: []byte(schema)}
}

// CommandOptions describes a tool that changes something.
type CommandOptions struct {
	Issuer tool.Name    // issuer of the tokens it needs; empty: its own yes approves it
	Class  policy.Class // zero is dangerous
	Own    bool         // it creates something of Countersign's own and loses nothing: no approval is needed
	When   string       // which plans need approval, in words (tool.Spec)
}

// CommandSpec returns the spec of a tool that changes something, with its published schema.
func CommandSpec(title, description, schema string, o CommandOptions) tool.Spec {
	if o.Class == policy.ClassUnknown {
		o.Class = policy.ClassDangerous
	}
	spec := tool.Spec{Title: title, Description: description, Class: o.Class, Effects: policy.Read | policy.Write | policy.Delete | policy.Network, Timeout: changeTimeout,
		Input: []byte(schema), Preview: o.Issuer, Approved: o.Issuer == "" && !o.Own, When: o.When}
	if !o.Own {
		spec.Human = policy.Simple
	}
	if o.Issuer != "" {
		spec.Confirm = policy.Preview
	}
	return spec
}

// WithWarnings adds warnings before an error to its details, where the contract's presenter finds them.
func WithWarnings(err error, warnings []string) error {
	if len(warnings) == 0 {
		return err
	}
	f := fault.From(err)
	details := deployment.Details{"warnings": warnings}
	if given, ok := f.Details.(deployment.Details); ok {
		for name, value := range given {
			details[name] = value
		}
	} else if f.Details != nil {
		return err
	}
	return f.WithDetails(details)
}

// maxWarnings is the maximum number of warnings in an answer.
const maxWarnings = 100

// UniqueWarnings returns every warning once, in the order of their first appearance; of too many, the first and the number of the others; never nil.
func UniqueWarnings(lists ...[]string) []string {
	out, seen := []string{}, map[string]bool{}
	for _, w := range slices.Concat(lists...) {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	if more := len(out) - maxWarnings; more > 0 {
		out = append(out[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more warnings", more))
	}
	return out
}

// ReportProgress reports writes as steps of the call; of thousands, a hundred: each report checks whether there is a terminal.
func ReportProgress(sc tool.Scope, what string) func(done, total int) {
	return func(done, total int) {
		if done < total && done*100/total == (done-1)*100/total {
			return
		}
		sc.Progress(tool.Progress{Done: int64(done), Total: int64(total), Message: what})
	}
}
