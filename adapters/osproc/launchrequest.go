package osproc

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/process"
)

// LaunchRequest is one program to run.
type LaunchRequest struct {
	Dir   string       // where processes are kept
	ID    process.ID   // which of them it is
	Owner Identity     // who gives the order
	Spec  process.Spec // without its labels, which are kept with the process
}

// launchDocument is an order as JSON, whose strings would not do.
type launchDocument struct {
	Dir     string            `json:"dir"`
	ID      process.ID        `json:"id"`
	Owner   Identity          `json:"owner"`
	Argv    [][]byte          `json:"argv"`
	Work    []byte            `json:"work"`
	Env     map[string][]byte `json:"env"`
	Timeout time.Duration     `json:"timeout"`
	Secrets [][]byte          `json:"secrets"`
	Log     []byte            `json:"log,omitempty"`
	Leaves  bool              `json:"leaves,omitempty"`
}

// Write gives the order.
func (o LaunchRequest) Write(w io.Writer) error {
	d := launchDocument{
		Dir: o.Dir, ID: o.ID, Owner: o.Owner, Work: []byte(o.Spec.Dir), Timeout: o.Spec.Timeout, Log: []byte(o.Spec.Log), Leaves: o.Spec.Leaves,
		Argv: all(o.Spec.Argv, func(s string) []byte { return []byte(s) }), Env: map[string][]byte{},
		Secrets: all(o.Spec.Secrets, func(s string) []byte { return []byte(s) }),
	}
	for name, value := range o.Spec.Env {
		d.Env[name] = []byte(value)
	}
	return json.NewEncoder(w).Encode(d)
}

// ReadLaunchRequest takes an order.
func ReadLaunchRequest(r io.Reader) (LaunchRequest, error) {
	var d launchDocument
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return LaunchRequest{}, err
	}
	text := func(b []byte) string { return string(b) }
	o := LaunchRequest{Dir: d.Dir, ID: d.ID, Owner: d.Owner, Spec: process.Spec{
		Dir: string(d.Work), Timeout: d.Timeout, Argv: all(d.Argv, text), Env: map[string]string{}, Secrets: all(d.Secrets, text), Log: string(d.Log), Leaves: d.Leaves,
	}}
	for name, value := range d.Env {
		o.Spec.Env[name] = string(value)
	}
	return o, nil
}

func all[A, B any](from []A, as func(A) B) []B {
	to := make([]B, 0, len(from))
	for _, a := range from {
		to = append(to, as(a))
	}
	return to
}

// SupervisorEnviron returns what a supervisor needs to know of an environment. Keys that may be in it are none of its business, and with one of the
// variables in without, it would pass for something it is not.
func SupervisorEnviron(inherited []string, without string) []string {
	env := []string{} // nil would mean everything
	for _, pair := range inherited {
		switch name, _, _ := strings.Cut(pair, "="); {
		case name == without:
		case name == "HOME", name == "PATH", name == "TMPDIR", name == "TZ", name == "LANG", name == "GOCOVERDIR",
			strings.HasPrefix(name, "COUNTERSIGN_"), strings.HasPrefix(name, "XDG_"):
			env = append(env, pair)
		}
	}
	return env
}
