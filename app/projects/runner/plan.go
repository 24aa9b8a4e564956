package runner

import (
	"cmp"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The categories of tools in lists for users (packageflow contract §2.7).
const (
	CategoryProjects   = "Project Management"
	CategoryWorktrees  = "Git Worktree"
	CategoryWorkflows  = "Workflows"
	CategoryTemplates  = "Templates"
	CategoryScripts    = "NPM/Package Scripts"
	CategoryBackground = "Background Processes"
	CategoryActions    = "MCP Actions"
)

// readTimeout is for git in a large repository.
const readTimeout = time.Minute

// RunTimeout is the timeout of a call that runs something: the longest that may be requested, and the time for starting and stopping.
const RunTimeout = time.Hour + 5*time.Minute

// ReadSpec returns the spec of a tool that only reads.
func ReadSpec(category, title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Category: category, Class: policy.ClassRead, Effects: policy.Read, Timeout: readTimeout,
		Input: json.RawMessage(schema)}
}

// ExecuteSpec returns the spec of a tool that runs or stops something (permission category execute, risk medium: packageflow contract).
func ExecuteSpec(category, title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Category: category, Class: policy.ClassDangerous,
		Effects: policy.Read | policy.Write | policy.Exec | policy.Network, Confirm: policy.Simple, Human: policy.Simple, Risk: policy.RiskMedium, Timeout: RunTimeout,
		Input: json.RawMessage(schema)}
}

// StoreSpec returns the spec of a tool that stores something of Countersign's own (permission category write, risk low: packageflow contract).
func StoreSpec(category, title, description, schema string) tool.Spec {
	return tool.Spec{Title: title, Description: description, Category: category, Class: policy.ClassWrite, Effects: policy.Read | policy.Write,
		Confirm: policy.Simple, Human: policy.Simple, Risk: policy.RiskLow, Input: json.RawMessage(schema)}
}

// planLabel is the label of the plans' hashes.
const planLabel = "project.plan.v1"

// Plan is what a tool will do. Its hash covers everything it shows, so that only the approved plan runs.
type Plan struct {
	tool.BasicPlan
	dated  string // scope of a dated grant
	bound  bool   // the scope includes its content
	loose  canon.Hash
	covers string // what the scope is, in words
}

// NewPlan returns a plan of the named tool. context marshals to JSON without fractions: the real command, the steps, the request.
func NewPlan(name tool.Name, summary string, context any, a policy.Assessment) (Plan, error) {
	p, err := tool.NewBasicPlan(planLabel, name, summary, context, tool.PlanOptions{Assessment: a})
	return Plan{BasicPlan: p}, err
}

// Bound returns the plan with grants limited to what it shows: the same target with any other content asks again (packageflow-security contract §5.1: a grant is
// for a target in a class of content).
func (p Plan) Bound() Plan {
	p.BasicPlan, p.bound = p.WithScope(ContentScope(p.Assessment().Scope, p.Hash())), true
	return p
}

// BoundBut is Bound for a plan that lists files that are read as code; less is the same plan without them. A session grant leaves them out, because editing them
// is the agent's job; a dated grant covers them as they are.
func (p Plan) BoundBut(less Plan) Plan {
	scope := p.Assessment().Scope
	p.dated = ContentScope(scope, p.Hash())
	p.BasicPlan, p.bound = p.WithScope(ContentScope(scope, less.Hash())), true
	return p
}

// Confined reports whether the plan's scope includes its content (tool.Confined).
func (p Plan) Confined() bool { return p.bound }

// WithProject returns the plan with the name of its project.
func (p Plan) WithProject(project string) Plan {
	p.BasicPlan = p.WithAbout(project)
	return p
}

// Covering returns the plan with its scope in words: something of that kind and name, in the project with that name, if any.
func (p Plan) Covering(kind, name, project string) Plan {
	if p.covers = kind + " " + quoted(name); project != "" {
		p.covers += " of " + quoted(project)
	}
	return p
}

// quoted returns a name for use in a sentence: in quotes unless it is one plain word, so that it cannot pass for a part of that sentence.
func quoted(name string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:@+", r)
	}
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return name
	}
	return strconv.QuoteToGraphic(name)
}

// Covers returns the scope in words, if set (tool.Worded).
func (p Plan) Covers() string { return p.covers }

// Scopes returns what an "always" covers within the tool (tool.Scoped).
func (p Plan) Scopes() (session, dated string) {
	scope := p.Assessment().Scope
	return scope, cmp.Or(p.dated, scope)
}

// Loosely returns the plan with the hash of everything except its arguments: bare shows that, and marshals to JSON without fractions.
func (p Plan) Loosely(bare any) (Plan, error) {
	var err error
	p.loose, err = canon.Sum("project.loose.v1", tool.BasicPlan{Tool: p.Tool, Context: bare})
	return p, err
}

// Loose returns the hash of the plan without its arguments (tool.Looser); zero if they cannot be separated.
func (p Plan) Loose() canon.Hash { return p.loose }

// ContentScope returns a scope narrowed to content by its hash.
func ContentScope(target string, content canon.Hash) string {
	_, digits, _ := strings.Cut(content.String(), ":")
	return target + "@" + digits[:shortHash]
}

// shortHash is a number of digits that prevents intentional collisions.
const shortHash = 32

// Warned returns the plan with a warning for the user that is not part of the hash, so that it may change while the user decides. The context must be
// a map.
func (p Plan) Warned(remark string) Plan {
	if context, ok := p.Context.(map[string]any); ok && remark != "" {
		context = maps.Clone(context)
		context["warning"] = remark
		p.Context = context
	}
	return p
}
