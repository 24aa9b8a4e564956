package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Call is the arguments of any of the tools.
type Call struct {
	Repo, Profile, Target, Machine string
	DryRun, Yes, Adopt             bool
	Diff                           bool
	Only                           []string
	To                             string
	ModuleID                       string
	Scope                          deployment.OverlayScope
	Branch                         string
	Kind                           string // of explain, of an overlay, of a recovery

	ModuleType, Source, ID        string
	Tags, Targets                 []string
	TargetScope                   deployment.Scope // of init and bootstrap
	Git, Bootstrap, Remove        bool
	Lock, Fetch, NoLock, NoFetch  bool
	Latest                        bool
	Sparse, Materialize, Sparsify bool
	HomeRoot                      string
	IDs                           []string
	Keep                          int
	Event                         json.RawMessage
	URL, Name, Remote             string
	Rebase                        bool
}

// Asked is what the call says about the place.
func (c Call) Asked() deployport.Asked { return deployport.Asked{Repo: c.Repo, Machine: c.Machine} }

// DecodeCall decodes the arguments of a tool. It fails with tool.ErrArguments, naming every problem, and with deployment.ErrTarget for a
// target that does not exist.
func DecodeCall(of tool.Name, raw json.RawMessage) (Call, error) {
	c := Call{Profile: deployment.DefaultProfile, Target: "all", Scope: deployment.GlobalScope, TargetScope: deployment.ScopeBoth}
	var given map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &given) != nil {
		return c, tool.ErrArguments.Sayf("the arguments of %s must be a JSON object", of)
	}
	var problems []string
	takes := argumentsOf(of)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		a, ok := find(takes, name)
		switch {
		case !ok:
			problems = append(problems, inputUnknown(name, takes))
		case string(given[name]) != "null":
			problems = append(problems, a.read(&c, given[name])...)
		}
	}
	for _, a := range takes {
		if value, ok := given[a.name]; a.required && (!ok || string(value) == "null") && a.name != "yes" && (c.Yes || c.DryRun || !has(takes, "yes")) {
			problems = append(problems, a.name+" is missing: "+a.description)
		}
	}
	if len(problems) > 0 {
		return c, tool.ErrArguments.Sayf("%s: %s", of, strings.Join(problems, "; ")).With(deployment.FieldDetails("problems", problems))
	}
	c.fill()
	if c.Target != "all" && !slices.Contains(target.TargetNames(), c.Target) {
		return c, unknownTarget(c.Target)
	}
	return c, nil
}

// fill gives empty texts their defaults.
func (c *Call) fill() {
	if c.Profile == "" {
		c.Profile = deployment.DefaultProfile
	}
	if c.Target == "" {
		c.Target = "all"
	}
	if c.Name == "" {
		c.Name = "origin"
	}
	if c.Remote == "" {
		c.Remote = "origin"
	}
}

func unknownTarget(name string) error {
	return deployment.ErrTarget.Sayf("there is no target %q; there are: all, %s", name, strings.Join(target.TargetNames(), ", ")).
		With(deployment.ReasonDetails("target_filter_unsupported", "inspect_help_json", "retry_with_supported_target").
			Add("target", name).Add("allowed", append([]string{"all"}, target.TargetNames()...)))
}

func find(takes []argument, name string) (argument, bool) {
	i := slices.IndexFunc(takes, func(a argument) bool { return a.name == name })
	if i < 0 {
		return argument{}, false
	}
	return takes[i], true
}

func has(takes []argument, name string) bool {
	_, ok := find(takes, name)
	return ok
}

func inputUnknown(name string, takes []argument) string {
	names := make([]string, len(takes))
	for i, a := range takes {
		names[i] = a.name
	}
	hint := "there are: " + strings.Join(names, ", ")
	if near := fault.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("%q is no argument; %s", name, hint)
}

// read puts one value where it belongs, and says what is wrong with it.
func (a argument) read(c *Call, value json.RawMessage) []string {
	into := c.field(a)
	if json.Unmarshal(value, into) != nil {
		return []string{a.name + " must be " + a.form()}
	}
	var texts []string
	switch v := into.(type) {
	case *string:
		texts = []string{*v}
	case *deployment.OverlayScope:
		texts = []string{string(*v)}
	case *deployment.Scope:
		texts = []string{string(*v)}
	case *[]string:
		texts = *v
	}
	var problems []string
	for _, text := range texts {
		if len(a.enum) > 0 && !slices.Contains(a.enum, text) {
			problems = append(problems, fmt.Sprintf("%s: %q is none of %s", a.name, text, strings.Join(a.enum, ", ")))
		}
	}
	return problems
}

func (a argument) form() string {
	switch a.kind {
	case boolean:
		return "true or false"
	case integer:
		return "a whole number"
	case texts:
		return "a list of strings"
	case object:
		return "a JSON object"
	}
	return "a string"
}

// field is where an argument's value goes.
func (c *Call) field(a argument) any {
	if a.scopes {
		return &c.TargetScope
	}
	return map[string]any{
		"repo": &c.Repo, "profile": &c.Profile, "target": &c.Target, "machine": &c.Machine, "dry_run": &c.DryRun, "diff": &c.Diff, "only": &c.Only,
		"adopt": &c.Adopt, "yes": &c.Yes, "to": &c.To, "module_id": &c.ModuleID, "scope": &c.Scope, "branch": &c.Branch, "kind": &c.Kind,
		"module_type": &c.ModuleType, "source": &c.Source, "id": &c.ID, "tags": &c.Tags, "targets": &c.Targets, "git": &c.Git, "bootstrap": &c.Bootstrap, "remove": &c.Remove,
		"lock": &c.Lock, "fetch": &c.Fetch, "no_lock": &c.NoLock, "no_fetch": &c.NoFetch, "latest": &c.Latest, "sparse": &c.Sparse,
		"materialize": &c.Materialize, "sparsify": &c.Sparsify, "home_root": &c.HomeRoot, "ids": &c.IDs, "keep": &c.Keep, "event": &c.Event,
		"url": &c.URL, "name": &c.Name, "remote": &c.Remote, "rebase": &c.Rebase,
	}[a.name]
}
