package shellcmd

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/project"
)

// Verdict is the result of checking a command.
type Verdict uint8

// The verdicts, the worst last.
const (
	VerdictOK    Verdict = iota // no findings
	VerdictHigh                 // the user must look at it, every time
	VerdictBlock                // it is never run from here
)

func verdictNames() []string { return []string{"ok", "high", "block"} }

// String returns the verdict's name: "ok", "high" or "block".
func (v Verdict) String() string {
	if names := verdictNames(); int(v) < len(names) {
		return names[v]
	}
	return "block"
}

// MarshalText returns the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name; any other text is an error.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdictNames(), string(text))
	if i < 0 {
		return project.ErrArgument.WithMessage("unknown verdict %.40q; use ok, high or block", text)
	}
	*v = Verdict(i)
	return nil
}

// Finding is one objection to a command: the rule, what the command does, an alternative, and the part of the text it is about.
type Finding struct {
	Rule     string  `json:"rule"`
	Verdict  Verdict `json:"verdict"`
	Message  string  `json:"message"`
	Fragment string  `json:"fragment"`
}

// CheckReport is the findings, the worst first.
type CheckReport struct {
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings,omitempty"`
	Starts   []start   `json:"-"` // every program the text starts, including those of texts within it
}

// start is a program that a text starts, directly or indirectly, for callers that know what that starts in turn.
type start struct {
	Run
	Dirs   []string // absolute, that it may run in; "" is unknown
	Source string   // the command it is part of, as written
}

// Refusal returns project.ErrCommandBlocked with the reason, and the report as its details, or nil if the command may run.
func (r CheckReport) Refusal() error {
	if r.Verdict != VerdictBlock || len(r.Findings) == 0 {
		return nil
	}
	first := r.Findings[0]
	return project.ErrCommandBlocked.WithMessage("%q is blocked: %s", first.Fragment, first.Message).WithDetails(r)
}

// CheckContext is the context in which a command is checked. Every field may be missing; then less is known, and fewer findings are made.
type CheckContext struct {
	Home    string                        // absolute; the home directory of the user who runs it
	Project string                        // absolute; the root of the project
	Dir     string                        // absolute; where it runs, Project when empty
	OwnDirs []string                      // absolute; files and directories that no command may change, such as Countersign's own data
	Parse   func(text string) ShellScript // parses sh -c and similar; without it such text is High
}

// The bounds of a check.
const (
	maxNested   = 8   // texts within texts
	maxTexts    = 64  // texts taken apart in one check
	maxFindings = 20  // findings in a report
	maxFragment = 160 // bytes of a finding's fragment
	maxBefore   = 16  // commands examined on the other side of a pipe
	maxStarts   = 2000
)

// CheckText rejects a command that is blank, longer than 8,192 bytes or contains a NUL, with project.ErrArgument.
func CheckText(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return project.ErrArgument.WithMessage("the command is empty; write the command to run")
	case len(command) > project.MaxCommand:
		return project.ErrArgument.WithMessage("the command has %d bytes; at most %d are allowed: put it into a script file and run that", len(command), project.MaxCommand)
	case strings.ContainsRune(command, 0):
		return project.ErrArgument.WithMessage("the command contains a NUL character, which shells do not accept")
	case !utf8.ValidString(command):
		return project.ErrArgument.WithMessage("the command is not UTF-8 text")
	}
	return nil
}

// CheckScript checks a script. The same script in the same context always gives the same report.
func CheckScript(script ShellScript, in CheckContext) CheckReport {
	texts := maxTexts
	home := cmp.Or(in.Home, UnknownHome)
	c := &check{
		CheckContext: in, course: TraceScript(script, home, cmp.Or(in.Dir, in.Project)), texts: &texts, found: &findings{}, home: home,
		own: slices.Concat(in.OwnDirs, clientFiles(in.Home, in.Project)),
	}
	c.judge()
	return c.found.report()
}

// findings collects what is found, each once.
type findings struct {
	all    []Finding
	starts []start
}

func (f *findings) add(found Finding) {
	found.Fragment = cut(found.Fragment)
	if !slices.Contains(f.all, found) && (len(f.all) < maxFindings || found.Verdict == VerdictBlock) {
		f.all = append(f.all, found)
	}
}

func (f *findings) report() CheckReport {
	worst := map[string]bool{}
	for _, found := range f.all {
		worst[found.Fragment] = worst[found.Fragment] || found.Verdict == VerdictBlock
	}
	f.all = slices.DeleteFunc(f.all, func(found Finding) bool { return found.Rule == "outside" && worst[found.Fragment] })
	slices.SortStableFunc(f.all, func(a, b Finding) int { return cmp.Compare(b.Verdict, a.Verdict) })
	if len(f.all) > maxFindings {
		f.all = f.all[:maxFindings]
	}
	r := CheckReport{Findings: f.all, Starts: f.starts}
	if len(f.all) > 0 {
		r.Verdict = f.all[0].Verdict
	}
	return r
}

func cut(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "?")
	if len(text) <= maxFragment {
		return text
	}
	end := maxFragment - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
