package packcmd

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
)

// Bounds of what one command adds to a pack, and of one anchor: the last is the tool's own.
const (
	maxTargets     = 500    // anchors
	maxTargetLines = 50_000 // lines of them all
	maxRefLines    = 2000   // lines of one; a longer file becomes several
	maxGlobFiles   = 100_000
)

// target is lines of a file, as an anchor names them.
type target struct {
	file  string
	lines [2]int
}

func (t target) String() string { return fmt.Sprintf("%s:%d-%d", t.file, t.lines[0], t.lines[1]) }

// targets reads the arguments of pack add: lines, a definition, a whole file, or a pattern that stands for whole files.
func (g group) targets(ctx context.Context, args []string, root string) ([]target, error) {
	var all []target
	for _, arg := range args {
		found, err := g.targetsOf(ctx, arg, root)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	total := 0
	for _, t := range all {
		total += t.lines[1] - t.lines[0] + 1
	}
	if len(all) > maxTargets || total > maxTargetLines {
		return nil, command.ErrUsage.WithMessage("that is %d anchors with %d lines; one command adds at most %d with %d lines", len(all), total, maxTargets, maxTargetLines).
			WithDetails(command.Hint("give fewer files, or only their relevant lines"))
	}
	return all, nil
}

func (g group) targetsOf(ctx context.Context, arg, root string) ([]target, error) {
	if _, err := os.Stat(arg); err == nil {
		return g.whole(arg, root)
	}
	if pattern(arg) && !regexp.MustCompile(lineForm).MatchString(arg) {
		files, err := g.matching(ctx, arg)
		if err != nil {
			return nil, err
		}
		var all []target
		for _, f := range files {
			found, err := g.whole(f, root)
			if err != nil {
				return nil, err
			}
			if all = append(all, found...); len(all) > maxTargets {
				break // more than enough to be refused
			}
		}
		return all, nil
	}
	file, lines, err := g.target(arg, root)
	return []target{{file, lines}}, err
}

// pattern reports a path that stands for several.
func pattern(s string) bool { return strings.ContainsAny(s, "*?[") }

// whole returns all lines of a file.
func (g group) whole(name, root string) ([]target, error) {
	has, err := lineCount(name)
	switch {
	case err != nil:
		return nil, command.ErrUsage.WithMessage("not a readable text file: %s", name).WithDetails(command.Hint("write FILE:12-40, FILE, or a pattern such as 'src/**/*.go'"))
	case has == 0:
		return nil, command.ErrUsage.WithMessage("%s has no lines", name)
	}
	file, _ := g.below(name, root)
	var all []target
	for from := 1; from <= has; from += maxRefLines {
		all = append(all, target{file, [2]int{from, min(has, from+maxRefLines-1)}})
	}
	return all, nil
}

// matching returns the files that a pattern stands for, as seen from the working directory: those that git tracks or does not ignore, else all that there are.
// ** stands for any directories.
func (g group) matching(ctx context.Context, pattern string) ([]string, error) {
	match, err := globRegexp(filepath.ToSlash(filepath.Clean(pattern)))
	if err != nil {
		return nil, command.ErrUsage.WithMessage("invalid file pattern %q: %v", pattern, err)
	}
	files, err := GitFiles(ctx, "", maxGlobFiles)
	if err != nil {
		files = nil
		err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil, len(files) >= maxGlobFiles:
				return err
			case d.IsDir() && d.Name() == ".git":
				return fs.SkipDir
			case d.Type().IsRegular():
				files = append(files, filepath.ToSlash(name))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var found []string
	for _, f := range files {
		if !match.MatchString(f) {
			continue
		}
		if n, err := lineCount(f); err == nil && n > 0 { // no directory, link to nothing, or empty file
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, command.ErrUsage.WithMessage("no files match %q", pattern).WithDetails(command.Hint("patterns are relative to the working directory; ** matches any directories"))
	}
	return found, nil
}

// globRegexp turns a pattern into a regular expression: ? and * are within one name, ** is any directories, [] a set of characters.
func globRegexp(pattern string) (*regexp.Regexp, error) {
	if _, err := path.Match(strings.ReplaceAll(pattern, "**", "*"), ""); err != nil {
		return nil, err
	}
	var re strings.Builder
	re.WriteString("^")
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			re.WriteString(`(?:.*/)?`)
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			re.WriteString(`.*`)
			rest = rest[2:]
		case rest[0] == '*':
			re.WriteString(`[^/]*`)
			rest = rest[1:]
		case rest[0] == '?':
			re.WriteString(`[^/]`)
			rest = rest[1:]
		case rest[0] == '[':
			end := strings.IndexByte(rest[1:], ']') + 2
			re.WriteString(rest[:end])
			rest = rest[end:]
		default:
			re.WriteString(regexp.QuoteMeta(rest[:1]))
			rest = rest[1:]
		}
	}
	return regexp.Compile(re.String() + "$")
}
