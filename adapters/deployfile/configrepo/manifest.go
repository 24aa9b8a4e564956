package configrepo

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// How large the two documents may be. YAML takes more than a hundred times its size in memory while it is read; ten thousand modules fit.
const (
	MaxManifestBytes = 2 << 20
	maxLockBytes     = 64 << 20
)

// Targets are the targets there are, each with the scopes it can be deployed to.
type Targets map[string][]deployment.Scope

func (t Targets) names() []string { return slices.Sorted(maps.Keys(t)) }

// manifestReader collects what is wrong and what is odd while a document is read.
type manifestReader struct {
	path     string
	targets  Targets
	problems []yamlcodec.Problem
	refused  *fault.Error // the first thing that is wrong and has details of its own
	warnings []string
}

// DecodeManifest reads and validates agentpack.yaml (agentpack contract §2.1). Keys nobody knows are warnings. It fails with ErrConfigVersion,
// ErrTarget, or ErrConfig, which lists every problem at its line and column.
func DecodeManifest(data []byte, path string, targets Targets) (deployment.Manifest, []string, error) {
	r := &manifestReader{path: path, targets: targets}
	root, err := yamlcodec.Parse(unmarked(data), yamlcodec.Options{MaxBytes: MaxManifestBytes})
	if err != nil {
		return deployment.Manifest{}, nil, r.fail(err)
	}
	if root.Kind() != yamlcodec.Mapping {
		r.wrong(root, "%s where a mapping with version, profiles, targets and modules is expected", root.Say())
		return deployment.Manifest{}, nil, r.err()
	}
	fields := r.fields(root, "the document", "version", "profiles", "targets", "modules")
	if err := r.version(fields["version"]); err != nil {
		return deployment.Manifest{}, nil, err
	}
	m := deployment.Manifest{
		Profiles: r.profiles(root, fields["profiles"]),
		Targets:  r.targetConfigs(fields["targets"]),
		Modules:  r.modules(fields["modules"]),
	}
	return m, r.warnings, r.err()
}

// unmarked is data without a byte order mark.
func unmarked(data []byte) []byte {
	if strings.HasPrefix(string(data[:min(len(data), len(mark))]), mark) {
		return data[len(mark):]
	}
	return data
}

const mark = "\ufeff"

// wrong notes a problem.
func (r *manifestReader) wrong(n yamlcodec.Node, format string, args ...any) {
	r.problems = append(r.problems, n.Problem(format, args...))
}

// refuse records a problem with its own details. Only the first one is reported, if the document's structure is valid.
func (r *manifestReader) refuse(n yamlcodec.Node, err *fault.Error) {
	if r.refused != nil {
		return
	}
	details, ok := err.Details.(deployment.Details)
	if !ok {
		details = deployment.Details{}
	}
	details.AddPath("path", r.path).Add("line", max(n.Line(), 1)).Add("column", max(n.Column(), 1))
	r.refused = err.WithMessage("%s, line %d, column %d: %s", r.path, max(n.Line(), 1), max(n.Column(), 1), err.Message).WithDetails(details)
}

// err is what is wrong with the document; nil when nothing is.
func (r *manifestReader) err() error {
	switch {
	case len(r.problems) > 0:
		texts := make([]string, 0, maxProblems)
		for _, p := range r.problems[:min(len(r.problems), maxProblems)] {
			texts = append(texts, p.String())
		}
		return r.invalid(strings.Join(texts, "; "), r.problems)
	case r.refused != nil:
		return r.refused
	}
	return nil
}

const maxProblems = 20

// fail is a parser's error in the words of the capability.
func (r *manifestReader) fail(err error) error {
	f := fault.From(err)
	problems, _ := f.Details.(yamlcodec.Problems)
	return r.invalid(f.Message, problems.Problems)
}

func (r *manifestReader) invalid(text string, problems []yamlcodec.Problem) error {
	details := deployment.FieldDetails("error", text).AddPath("path", r.path)
	if len(problems) > 0 {
		details.Add("line", problems[0].Line).Add("column", problems[0].Column).Add("problems", problems[:min(len(problems), maxProblems)])
	}
	return deployment.ErrConfig.WithMessage("%s is not valid: %s", r.path, text).WithDetails(details)
}

// fields returns a mapping by key and warns about unknown keys. Anything but a mapping has no fields.
func (r *manifestReader) fields(n yamlcodec.Node, what string, known ...string) map[string]yamlcodec.Node {
	out := map[string]yamlcodec.Node{}
	if n.Given() && n.Kind() != yamlcodec.Mapping {
		r.wrong(n, "%s where a mapping is expected for %s", n.Say(), what)
	}
	for _, f := range n.Fields() {
		key := f.Key.Text()
		if slices.Contains(known, key) {
			out[key] = f.Value
			continue
		}
		warning := f.Key.Problem("unknown key %s in %s is ignored", f.Key.Say(), what).String()
		if near := fault.Nearest(key, known); near != "" {
			warning += "; did you mean " + near + "?"
		}
		r.warnings = append(r.warnings, r.path+", "+warning)
	}
	return out
}

// text is a scalar that is text, or "" when it is absent.
func (r *manifestReader) text(n yamlcodec.Node, what string) string {
	switch n.Kind() {
	case yamlcodec.Text:
		return n.Text()
	case yamlcodec.Missing, yamlcodec.Null:
	case yamlcodec.Number, yamlcodec.Bool:
		r.wrong(n, "%s where text is expected for %s; put it in quotes", n.Say(), what)
	default:
		r.wrong(n, "%s where text is expected for %s", n.Say(), what)
	}
	return ""
}

// required is text that must be there and not blank; parent is where it is missed.
func (r *manifestReader) required(parent, n yamlcodec.Node, what string) (value string, ok bool) {
	before := len(r.problems)
	value = r.text(n, what)
	switch {
	case len(r.problems) > before:
		return "", false
	case !n.Given():
		r.wrong(parent, "%s is missing", what)
		return "", false
	case strings.TrimSpace(value) == "":
		r.wrong(n, "%s is blank", what)
		return "", false
	}
	return value, true
}

func (r *manifestReader) flag(n yamlcodec.Node, what string, otherwise bool) bool {
	switch {
	case !n.Given():
		return otherwise
	case n.Kind() != yamlcodec.Bool:
		r.wrong(n, "%s where true or false is expected for %s", n.Say(), what)
		return otherwise
	}
	return strings.EqualFold(n.Text(), "true")
}

func (r *manifestReader) texts(n yamlcodec.Node, what string) []string {
	if n.Given() && n.Kind() != yamlcodec.List {
		r.wrong(n, "%s where a list is expected for %s", n.Say(), what)
	}
	var out []string
	for _, item := range n.Items() {
		if value, ok := r.required(item, item, "an entry of "+what); ok {
			out = append(out, value)
		}
	}
	return out
}
