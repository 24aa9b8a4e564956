package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// The limits of examining commands.
const (
	maxDepth   = 5 // scripts that start scripts
	maxScripts = 100
)

// StartedScript is a package.json script that a command starts, directly or through other scripts.
type StartedScript struct {
	Name    string `json:"name"`
	Command string `json:"command"`
	Pre     string `json:"pre,omitempty"`
	Post    string `json:"post,omitempty"`
	Dir     string `json:"dir,omitempty"` // of the package.json, if it is not in the directory the command runs in
}

// ExamineResult is the result of examining commands before they run.
type ExamineResult struct {
	Findings Findings
	Scripts  []StartedScript
	Settings []project.ManagerSetting // of package managers, if one is among what runs
	DevLike  string                   // the script among them that never ends; empty for none
	Code     process.Code             // the files that are read as code
}

// Same reports whether the commands would start the same as in the earlier examination.
func (e ExamineResult) Same(before ExamineResult) bool {
	return e.Alike(before) && e.Code.Same(before.Code)
}

// Alike is Same for commands after others of the same plan, which may have made files that these read. Files that were probably generated are not
// compared: those in directories for built and installed files, and those that package managers write.
func (e ExamineResult) Alike(before ExamineResult) bool {
	return slices.Equal(e.Scripts, before.Scripts) && slices.Equal(e.Settings, before.Settings) && slices.Equal(kept(e.Code), kept(before.Code))
}

// Changed describes the differences from before.
func (e ExamineResult) Changed(before ExamineResult) string {
	if !slices.Equal(e.Scripts, before.Scripts) || !slices.Equal(e.Settings, before.Settings) {
		return "a script of package.json, or a setting of the package manager"
	}
	for _, r := range before.Code.Reads {
		if !slices.Contains(e.Code.Reads, r) {
			return "the file " + r.Path
		}
	}
	for _, r := range e.Code.Reads {
		if !slices.Contains(before.Code.Reads, r) {
			return "the file " + r.Path
		}
	}
	return "the files that it reads"
}

// kept returns the files that probably no step of a plan generates.
func kept(c process.Code) []process.CodeFile {
	return slices.DeleteFunc(slices.Clone(c.Reads), func(r process.CodeFile) bool {
		dirs := strings.Split(r.Path, "/")
		last := dirs[len(dirs)-1]
		return slices.ContainsFunc(dirs[:len(dirs)-1], func(dir string) bool {
			return slices.Contains([]string{"node_modules", "dist", "build", "out", "target", "bin", "coverage", "generated", ".next", ".output", "vendor"}, dir)
		}) || slices.Contains([]string{"package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"}, last)
	})
}

// Command is commands that run in a directory.
type Command struct {
	Root, Dir string   // of the project, and the working directory
	Texts     []string // shell text
	Managed   bool     // a package manager runs them: its settings apply
	Script    string   // the script that they are; it is not listed again when it starts itself
}

// Examine returns the linter's findings for the commands and for every package.json script that they start, with the present text of those scripts
// (packageflow-security contract §4.6). A blocked one is project.ErrCommandBlocked; what cannot be examined is high risk.
func (r Runner) Examine(ctx context.Context, around projectport.Surroundings, c Command) (ExamineResult, error) {
	x := &examination{runner: r, around: around, of: c, seen: map[string]bool{}, managed: c.Managed}
	if c.Script != "" {
		x.seen[c.Dir+"\x00"+c.Script] = true
	}
	for _, text := range c.Texts {
		if err := x.text(ctx, c.Dir, text, 0); err != nil {
			return ExamineResult{}, err
		}
	}
	if x.managed {
		x.set(around.Settings)
	}
	if r.Code == nil {
		return x.out, nil
	}
	var err error
	x.out.Code, err = r.Code.Code(ctx, c.Root, append(x.commands, x.named()...))
	return x.out, err
}

// named returns the files that settings of package managers name, as commands that load them.
func (x *examination) named() (out []process.ShellCommand) {
	for _, s := range x.out.Settings {
		dir := x.of.Dir
		if path.IsAbs(s.File) {
			dir = path.Dir(s.File)
		}
		for field := range strings.FieldsFuncSeq(s.Value, func(c rune) bool { return c == ' ' || c == '=' || c == ',' }) {
			if strings.Contains(field, "/") || strings.HasSuffix(field, "js") {
				out = append(out, process.ShellCommand{Dir: dir, Text: "node --require " + QuoteArgs([]string{field})})
			}
		}
	}
	return out
}

// examination is an examination in progress.
type examination struct {
	runner   Runner
	around   projectport.Surroundings
	of       Command
	out      ExamineResult
	seen     map[string]bool        // directory and name of scripts
	looked   map[string]bool        // directories whose settings were read
	commands []process.ShellCommand // everything that runs
	managed  bool
}

func (x *examination) find(rule, fragment, message string, args ...any) {
	f := shellcmd.Finding{Rule: rule, Verdict: shellcmd.VerdictHigh, Message: fmt.Sprintf(message, args...), Fragment: clip(fragment)}
	if !slices.Contains(x.out.Findings, f) {
		x.out.Findings = append(x.out.Findings, f)
	}
}

// set lists settings, each with a finding, because package.json alone does not decide what runs.
func (x *examination) set(settings []project.ManagerSetting) {
	for _, s := range settings {
		if slices.Contains(x.out.Settings, s) {
			continue
		}
		x.out.Settings = append(x.out.Settings, s)
		if !s.Usual {
			whose := s.File + " of the project"
			if path.IsAbs(s.File) {
				whose = s.File
			}
			x.find("manager-setting", s.Key+"="+s.Value, "%s changes what the package manager runs; look at what it names", whose)
		}
	}
}

// text checks a text and follows what it starts.
func (x *examination) text(ctx context.Context, dir, text string, depth int) error {
	report, err := x.runner.judge(x.around, x.of.Root, dir, text)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) != "" {
		x.commands = append(x.commands, process.ShellCommand{Dir: dir, Text: text})
	}
	for _, f := range report.Findings {
		if !slices.Contains(x.out.Findings, f) {
			x.out.Findings = append(x.out.Findings, f)
		}
	}
	x.managed = x.managed || shellcmd.UsesPackageManager(report.Starts)
	for _, call := range shellcmd.ScriptCalls(report.Starts) {
		if call.Unclear != "" {
			x.find("script-unclear", call.Source, "%s", call.Unclear)
			continue
		}
		for _, at := range call.Dirs {
			if err := x.call(ctx, call, at, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// call follows the scripts of one call in one directory.
func (x *examination) call(ctx context.Context, call shellcmd.ScriptCall, at string, depth int) error {
	dir, manifest, err := x.manifest(ctx, at)
	if err != nil {
		return err
	}
	if dir == "" {
		if !call.Loose {
			x.find("script-unclear", call.Source, "it starts scripts of a package.json that is outside the project, or only known when it runs")
		}
		return nil
	}
	for _, name := range call.Names {
		names := []string{name}
		if prefix, pattern := strings.CutSuffix(name, "*"); pattern {
			names = slices.DeleteFunc(manifest.ScriptNames(), func(n string) bool { return !strings.HasPrefix(n, prefix) })
		}
		for _, name := range names {
			if err := x.script(ctx, manifest, started{call, dir, name, depth}); err != nil {
				return err
			}
		}
	}
	return nil
}

// started is one script of a call.
type started struct {
	call  shellcmd.ScriptCall
	dir   string
	name  string
	depth int
}

func (x *examination) script(ctx context.Context, m *project.Manifest, s started) error {
	text, there := m.Scripts[s.name]
	if !there {
		if !s.call.Loose {
			x.find("script-unclear", s.call.Source, "package.json has no script %.100q, so it is unknown what it will start", s.name)
		}
		return nil
	}
	if key := s.dir + "\x00" + s.name; x.seen[key] {
		return nil
	} else if x.seen[key] = true; s.depth > maxDepth || len(x.out.Scripts) == maxScripts {
		x.find("script-depth", s.call.Source, "it starts scripts through more than %d others, or more than %d in all; the others are not examined", maxDepth, maxScripts)
		return nil
	}
	one := StartedScript{Name: s.name, Command: text, Pre: m.Scripts["pre"+s.name], Post: m.Scripts["post"+s.name]}
	if s.dir != x.of.Dir {
		one.Dir = s.dir
	}
	x.out.Scripts = append(x.out.Scripts, one)
	if x.out.DevLike == "" && shellcmd.LooksLongRunning(strings.ReplaceAll(s.name, ":", "-"), text) { // names with a part after a colon are not always servers
		x.out.DevLike = s.name
	}
	for _, text := range []string{one.Pre, one.Command, one.Post} {
		if err := x.text(ctx, s.dir, text, s.depth); err != nil {
			f := fault.From(err)
			if errors.Is(err, project.ErrCommandBlocked) && s.depth == 1 {
				return f.WithMessage("script %q of package.json: %s", s.name, f.Message)
			}
			return err
		}
	}
	return nil
}

// manifest returns the package.json in force in a directory, its own or one above it in the project, and its location; "" if there is none.
func (x *examination) manifest(ctx context.Context, at string) (string, *project.Manifest, error) {
	if at == "" {
		return "", nil, nil
	}
	dir, _, err := x.runner.Dirs.Resolve(ctx, at, []string{x.of.Root})
	if err != nil {
		return "", nil, ctx.Err()
	}
	if dir != x.of.Dir && !x.looked[dir] {
		around, err := x.runner.Around(ctx, x.of.Root, dir)
		if err != nil {
			return "", nil, err
		}
		if x.looked == nil {
			x.looked = map[string]bool{}
		}
		x.looked[dir] = true
		for i := range around.Settings {
			if !path.IsAbs(around.Settings[i].File) {
				around.Settings[i].File = path.Join(dir, around.Settings[i].File)
			}
		}
		x.set(around.Settings)
	}
	for ; within(dir, x.of.Root); dir = path.Dir(dir) {
		facts, err := x.runner.Dirs.Facts(ctx, dir)
		switch {
		case facts.Manifest != nil:
			return dir, facts.Manifest, nil
		case facts.Broken != nil:
			return "", nil, nil
		case err != nil && !errors.Is(err, project.ErrManifest):
			return "", nil, err
		}
		if dir == x.of.Root {
			break
		}
	}
	return "", nil, nil
}

// Hidden returns findings for the parts of the texts that the user will not see because they are masked: code can hide behind a name such as
// password, and the user who approves must know that there is something (packageflow-security contract §5.1).
func (r Runner) Hidden(parts ...any) Findings {
	if r.Mask == nil {
		return nil
	}
	var out Findings
	for _, part := range parts {
		doc, err := tool.Encode(part)
		if err != nil {
			continue // what cannot be encoded is not shown either
		}
		masked := r.Mask(doc)
		if string(masked) == string(doc) {
			continue
		}
		var text any
		fragment := string(masked)
		if json.Unmarshal(masked, &text) == nil {
			if plain, ok := text.(string); ok {
				fragment = plain
			}
		}
		out = append(out, shellcmd.Finding{Rule: "masked", Verdict: shellcmd.VerdictHigh, Message: "part of this is masked because it is, or looks like, a secret; see the original where it is stored", Fragment: clip(fragment)})
	}
	return out
}

// Parts returns the texts of scripts and settings, for Hidden.
func (e ExamineResult) Parts() []any {
	var out []any
	for _, s := range e.Scripts {
		for _, text := range []string{s.Command, s.Pre, s.Post} {
			if text != "" {
				out = append(out, text)
			}
		}
	}
	for _, s := range e.Settings {
		out = append(out, s.Key+"="+s.Value)
	}
	return out
}
