package governance

import (
	"cmp"
	"slices"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/inspection"
)

// rule names the rule that an issue violates (agentpack contract §5.17).
type rule string

// The rules.
const (
	IORead             rule = "io_read"
	SkillFrontmatter   rule = "skill_frontmatter"
	commandTools       rule = "claude_command_allowed_tools"
	DangerousDefaults  rule = "dangerous_defaults"
	HiddenCharacters   rule = "hidden_characters" // an addition to the original: what a reader of a file, or of its name, would not see
	LiteralSecret      rule = "literal_secret"    // likewise: a secret itself, instead of a reference to it
	PolicyConfig       rule = "policy_config"
	packLocked         rule = "policy_pack_lock"
	packRemotes        rule = "policy_pack_allowed_git_remotes"
	distribution       rule = "distribution_policy"
	requiredTargets    rule = "distribution_required_targets"
	requiredModules    rule = "distribution_required_modules"
	supplyChain        rule = "supply_chain_policy"
	remotes            rule = "supply_chain_allowed_git_remotes"
	lockMissing        rule = "supply_chain_lockfile_missing"
	lockInvalid        rule = "supply_chain_lockfile_invalid"
	lockMissingModule  rule = "supply_chain_lockfile_missing_module"
	lockSourceMismatch rule = "supply_chain_lockfile_source_mismatch"
	lockURLMismatch    rule = "supply_chain_lockfile_url_mismatch"
	lockUnpinned       rule = "supply_chain_lockfile_unpinned_commit"
)

// Issue is one violation of a rule. Path is relative to the repository.
type Issue struct {
	Details   deployment.Details `json:"details,omitempty"`
	Message   string             `json:"message"`
	Path      string             `json:"path"`
	PathPosix string             `json:"path_posix"`
	Rule      rule               `json:"rule"`
}

// NewIssue returns a violation found in a file; path is relative to the repository, with slashes. Details may be nil.
func NewIssue(rule rule, path, message string, details deployment.Details) Issue {
	return Issue{details, message, path, path, rule}
}

// Report is the result of lint for a repository.
type Report struct {
	Findings  []inspection.Finding `json:"findings,omitempty"` // about modules' files; they violate nothing
	Issues    []Issue              `json:"issues"`             // sorted by path, rule and message
	Omitted   int                  `json:"issues_omitted,omitempty"`
	Root      string               `json:"root"`
	RootPosix string               `json:"root_posix"`
	Summary   summary              `json:"summary"`
}

// summary counts the files that were examined, and issues by rule.
type summary struct {
	Commands   int          `json:"claude_command_files"`
	Files      int          `json:"files_scanned"`
	Rules      map[rule]int `json:"rules"`
	Skills     int          `json:"skill_files"`
	Violations int          `json:"violations"`
}

// NewReport returns the report with the issues of a repository at root with that many skills and commands.
func NewReport(root string, issues []Issue, skills, commands int) Report {
	r := Report{Issues: append([]Issue{}, issues...), Root: root, RootPosix: deployment.PosixPath(root),
		Summary: summary{Commands: commands, Files: skills + commands, Rules: map[rule]int{}, Skills: skills, Violations: len(issues)}}
	slices.SortStableFunc(r.Issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.PathPosix, b.PathPosix), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	for _, i := range issues {
		r.Summary.Rules[i.Rule]++
	}
	return r
}

// Fault returns ErrPolicyViolations with the report in its details, or nil if there is no issue.
func (r Report) Fault() error {
	if r.Summary.Violations == 0 {
		return nil
	}
	details := deployment.ReasonDetails("policy_violations", "fix_policy_violations", "retry_policy_lint").
		Add("issues", r.Issues).Add("summary", r.Summary).AddPath("root", r.Root)
	if len(r.Findings) > 0 {
		details.Add("findings", r.Findings)
	}
	if r.Omitted > 0 {
		details.Add("issues_omitted", r.Omitted)
	}
	first := r.Issues[0]
	return deployment.ErrPolicyViolations.WithMessage("%s breaks its policy in %d places (first: %s: %s)", r.Root, r.Summary.Violations, first.PathPosix, first.Message).WithDetails(details)
}
