package webhook

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
)

// Bounds and defaults of a script action (packageflow contract §1.6).
const (
	DefaultTimeoutMS = 60_000
	maxTimeoutMS     = 3_600_000
	maxStreamBytes   = 100 << 10 // of each stream in a result
)

// Action is a stored action. Exactly the config of its type is set.
type Action struct {
	ID          string          `json:"id"` // UUIDv4
	Type        project.Kind    `json:"actionType"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	ProjectID   string          `json:"projectId,omitempty"` // empty: of no project
	Enabled     bool            `json:"isEnabled"`
	Script      *ScriptConfig   `json:"script,omitempty"`
	Webhook     *Config         `json:"webhook,omitempty"`
	Workflow    *WorkflowConfig `json:"workflow,omitempty"`
	CreatedAt   time.Time       `json:"createdAt"`
	UpdatedAt   time.Time       `json:"updatedAt"`
	Revision    int64           `json:"revision"`
}

// ScriptConfig is a program with its arguments. It is started directly, without a shell.
type ScriptConfig struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args,omitempty"`
	Cwd       string            `json:"cwd,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	TimeoutMS int64             `json:"timeoutMs,omitempty"` // 0 is DefaultTimeoutMS
	UseVolta  bool              `json:"useVolta,omitempty"`
}

// WorkflowConfig names a workflow.
type WorkflowConfig struct {
	WorkflowID string            `json:"workflowId"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

// Validate rejects an action that could not run, with project.ErrArgument.
func (a Action) Validate() error {
	if strings.TrimSpace(a.Name) == "" {
		return project.ErrArgument.WithMessage("an action needs a name")
	}
	if err := project.CheckText("name", a.Name, project.MaxName); err != nil {
		return err
	}
	if err := project.CheckText("description", a.Description, project.MaxDescription); err != nil {
		return err
	}
	have := map[project.Kind]bool{project.KindScript: a.Script != nil, project.KindWebhook: a.Webhook != nil, project.KindWorkflow: a.Workflow != nil}
	for kind, there := range have {
		if there != (kind == a.Type) {
			return project.ErrArgument.WithMessage("an action of type %q needs exactly one config, of that type", a.Type)
		}
	}
	switch a.Type {
	case project.KindScript:
		return a.Script.validate()
	case project.KindWebhook:
		return a.Webhook.Validate()
	case project.KindWorkflow:
		if a.Workflow.WorkflowID == "" {
			return project.ErrArgument.WithMessage("the action has no workflow")
		}
		return nil
	}
	return project.ErrArgument.WithMessage("unknown action type %q; use script, webhook or workflow", a.Type)
}

func (c ScriptConfig) validate() error {
	switch {
	case strings.TrimSpace(c.Command) == "":
		return project.ErrArgument.WithMessage("the action has no command")
	case strings.ContainsAny(c.Command, " \t\n"):
		return project.ErrArgument.WithMessage("the command %q contains spaces; write only the program in command, and its arguments in args", c.Command)
	case len(c.Command) > project.MaxCommand:
		return project.ErrArgument.WithMessage("the command has more than %d bytes", project.MaxCommand)
	case c.TimeoutMS < 0 || c.TimeoutMS > maxTimeoutMS:
		return project.ErrArgument.WithMessage("timeoutMs is outside the range 0 to %d", maxTimeoutMS)
	}
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return project.ErrArgument.WithMessage("args[%d] contains a NUL character, which is not allowed in arguments", i)
		}
	}
	if err := project.CheckText("command", c.Command, project.MaxCommand); err != nil { // what is shown must be what is run
		return err
	}
	return project.CheckText("cwd", c.Cwd, project.MaxPath)
}

// Level is the decision of a rule (packageflow contract §1.7).
type Level string

// The levels.
const (
	RequireConfirm Level = "require_confirm"
	AutoApprove    Level = "auto_approve"
	Deny           Level = "deny"
)

// Known reports whether l is one of the three.
func (l Level) Known() bool { return l == RequireConfirm || l == AutoApprove || l == Deny }

// ActionRule is what the user decided for one action, for all of a type, or for all. There is at most one for each.
type ActionRule struct {
	ActionID  string       `json:"actionId,omitempty"`
	Type      project.Kind `json:"actionType,omitempty"`
	Level     Level        `json:"permissionLevel"`
	CreatedAt time.Time    `json:"createdAt"`
}

// The sources of a resolved level.
const (
	FromAction  = "action"
	FromType    = "type"
	FromGlobal  = "global"
	FromDefault = "default"
)

// ResolveLevel returns the level in force for an action and its source: the action's own rule, that of its type, the global one, else RequireConfirm,
// which is not stored and so raises nothing (packageflow-security contract §3.3).
func ResolveLevel(rules []ActionRule, actionID string, kind project.Kind) (Level, string) {
	for _, r := range rules {
		if actionID != "" && r.ActionID == actionID {
			return r.Level, FromAction
		}
	}
	for _, r := range rules {
		if r.ActionID == "" && r.Type == kind && kind != "" {
			return r.Level, FromType
		}
	}
	for _, r := range rules {
		if r.ActionID == "" && r.Type == "" {
			return r.Level, FromGlobal
		}
	}
	return RequireConfirm, FromDefault
}

// LoosensRules reports whether a rule, added to the others or, without a level, removed from them, would allow what is denied or needs approval now.
// kind is that of the rule's action, or of the rule. Approving an action beforehand alone permits nothing.
func LoosensRules(rules []ActionRule, change ActionRule, kind project.Kind) bool {
	after := slices.DeleteFunc(slices.Clone(rules), func(r ActionRule) bool { return r.ActionID == change.ActionID && r.Type == change.Type })
	if change.Level != "" {
		after = append(after, change)
	}
	kinds := []project.Kind{kind}
	if kind == "" {
		kinds = []project.Kind{project.KindScript, project.KindWebhook, project.KindWorkflow}
	}
	return slices.ContainsFunc(kinds, func(kind project.Kind) bool {
		return openness(ResolveLevel(after, change.ActionID, kind)) > openness(ResolveLevel(rules, change.ActionID, kind))
	})
}

// LoosenedRules returns what rules deny or ask about that next, in their place, would allow, one line each. For an action without a rule of its own,
// the strictest of what applies to it now is compared with the least strict of what would apply then.
func LoosenedRules(rules, next []ActionRule) []string {
	kinds := []project.Kind{project.KindScript, project.KindWebhook, project.KindWorkflow}
	var lines []string
	seen := map[ActionRule]bool{}
	for _, r := range append(append([]ActionRule{}, rules...), next...) {
		about := ActionRule{ActionID: r.ActionID, Type: r.Type}
		what, of := "actions", kinds
		switch {
		case r.ActionID != "":
			about.Type, what = "", "action "+r.ActionID
		case r.Type != "":
			what, of = "actions of type "+string(r.Type), []project.Kind{r.Type}
		}
		if seen[about] {
			continue
		}
		seen[about] = true
		had, has := 2, 0
		for _, kind := range of {
			had, has = min(had, openness(ResolveLevel(rules, r.ActionID, kind))), max(has, openness(ResolveLevel(next, r.ActionID, kind)))
		}
		if has > had {
			words := []string{"denied", "asked for by a rule", "under no rule that denies or asks"}
			lines = append(lines, what+": "+words[has]+" instead of "+words[had])
		}
	}
	return lines
}

// openness ranks the results of ResolveLevel.
func openness(l Level, from string) int {
	switch {
	case l == Deny:
		return 0
	case l == RequireConfirm && from != FromDefault:
		return 1
	}
	return 2
}

// SortActionRules sorts rules of actions first, then those of types, then the global one; newest first among equals.
func SortActionRules(rules []ActionRule) {
	rank := func(r ActionRule) int {
		switch {
		case r.ActionID != "":
			return 0
		case r.Type != "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(rules, func(a, b ActionRule) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreatedAt.Compare(a.CreatedAt))
	})
}
