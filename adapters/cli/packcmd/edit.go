package packcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/domain/outline"
)

// defaultTTL is how long a pack lives that nobody says otherwise for.
const defaultTTL = "24h"

// maxText bounds a note or diagram read from a file or stdin, in bytes.
const maxText = 1 << 20

func (g group) create() *cobra.Command {
	var title, brief, ttl string
	var tags []string
	c := &cobra.Command{Use: "new [NAME]", Short: "Start a pack and print its id", Args: command.Args(0, 1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: `  countersign pack new login-bug --ttl 3d --tag auth`}
	c.Flags().StringVar(&title, "title", "", "heading of the rendered pack")
	c.Flags().StringVar(&brief, "brief", "", "topic of the pack, in one sentence")
	c.Flags().StringArrayVar(&tags, "tag", nil, "tag (repeatable)")
	c.Flags().StringVar(&ttl, "ttl", defaultTTL, "time until it expires: 90m, 24h, 7d")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		minutes, err := minutes("--ttl", ttl)
		if err != nil {
			return err
		}
		call := command.Arguments{"action": "create", "ttl_minutes": minutes}.Set("name", command.First(args)).Set("title", title).Set("brief", brief)
		if len(tags) > 0 {
			call["tags"] = tags
		}
		var p stored
		o, err := g.payload(cmd.Context(), call, &p)
		switch {
		case err != nil:
			return err
		case g.JSON:
			return g.Show(o)
		}
		g.Line("%s", p.ID)
		g.Note("a draft until %s; next: countersign pack add FILE:FIRST-LAST --why \"…\"", moment(p.ExpiresAt))
		return nil
	}
	return c
}

// minutes reads a time to live: minutes as 90, as the tools take them, a Go duration, or days as 7d.
func minutes(flag, text string) (int64, error) {
	number, each := text, int64(1)
	if d, ok := strings.CutSuffix(text, "d"); ok {
		number, each = d, 24*60
	}
	if n, err := strconv.ParseInt(number, 10, 32); err == nil && n > 0 {
		return n * each, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute || d%time.Minute != 0 {
		return 0, command.ErrUsage.WithMessage("invalid %s %q; use whole minutes", flag, text).WithDetails(command.Hint("for example 90 (minutes), 24h or 7d"))
	}
	return int64(d / time.Minute), nil
}

// place is where in a pack something goes.
type place struct{ pack, section, title string }

func (w *place) flags(c *cobra.Command, g group, section string) {
	c.Flags().StringVarP(&w.pack, "pack", "p", "", "ID or name of the pack (default: the draft changed last)")
	c.Flags().StringVarP(&w.section, "section", "s", section, "key of the section; created if it does not exist")
	c.Flags().StringVar(&w.title, "section-title", "", "title of a created section (default: from its key)")
	_ = c.RegisterFlagCompletionFunc("pack", g.completePacks("draft"))
}

// open returns the pack of the place, with its section made sure of.
func (g group) open(ctx context.Context, w place) (string, error) {
	ident, err := g.resolve(ctx, w.pack, "draft")
	if err != nil {
		return "", err
	}
	p, err := g.get(ctx, ident)
	if err != nil {
		return "", err
	}
	if _, ok := p.section(w.section); ok {
		return p.ID, nil
	}
	_, _, err = g.edit(ctx, p.ID, func(stored) (command.Arguments, error) {
		return command.Arguments{"action": "upsert_section", "section_key": w.section, "section_title": w.heading()}, nil
	})
	return p.ID, err
}

// heading returns the title of a section that is made.
func (w place) heading() string {
	if w.title != "" {
		return w.title
	}
	return strings.ToUpper(w.section[:min(1, len(w.section))]) + strings.NewReplacer("-", " ", "_", " ").Replace(w.section[min(1, len(w.section)):])
}

func (g group) add() *cobra.Command {
	var where place
	var key, title, why, cluster, root, commit string
	c := &cobra.Command{Use: "add FILE:FIRST-LAST...", Short: "Anchor lines of source files in a pack", Args: command.Args(1, -1),
		Long: "Anchor lines of source files in a pack. FILE:12-40 and FILE:12 name lines, FILE#L12-L40 as code hosts write them, and FILE:Name the definition of Name. " +
			"FILE alone means all its lines, and a pattern such as 'src/**/*.go' all lines of the matching files that git does not ignore. " +
			"One command adds at most 500 anchors with 50,000 lines, as one change.",
		Example: `  countersign pack add internal/auth/token.go:12-40 --why "expiry is checked here"
  countersign pack add internal/auth/token.go:Verify internal/auth/session.go:8 README.md
  countersign pack add 'internal/auth/*.go' --section auth`}
	where.flags(c, g, "code")
	c.Flags().StringVar(&key, "key", "", "key of the anchor (default: from file and line)")
	c.Flags().StringVar(&title, "title", "", "title of the anchor")
	c.Flags().StringVar(&why, "why", "", "why it is in the pack")
	c.Flags().StringVar(&cluster, "group", "", "group within the section")
	c.Flags().StringVar(&root, "root", "", "named source root of the file")
	c.Flags().StringVar(&commit, "commit", "", "commit of the lines")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		found, err := g.targets(cmd.Context(), args, root)
		switch {
		case err != nil:
			return err
		case len(found) > 1 && key != "":
			return command.Usage(cmd, "--key needs a single anchor; this command adds several")
		case len(found) > 1:
			refs := make([]documentRef, len(found))
			for i, t := range found {
				refs[i] = documentRef{Path: t.file, LineStart: t.lines[0], LineEnd: t.lines[1], Title: title, Why: why, Group: cluster, Root: root, Commit: commit}
			}
			return g.addAll(cmd.Context(), where, refs)
		}
		file, lines := found[0].file, found[0].lines
		ident, err := g.open(cmd.Context(), where)
		if err != nil {
			return err
		}
		return g.change(cmd.Context(), ident, "anchored "+fmt.Sprintf("%s:%d-%d", file, lines[0], lines[1])+" in", func(p stored) (command.Arguments, error) {
			k := key
			if k == "" {
				s, _ := p.section(where.section)
				k = freeKey(file, lines[0], s.Refs)
			}
			call := command.Arguments{"action": "upsert_ref", "section_key": where.section, "ref_key": k, "path": file, "line_start": lines[0], "line_end": lines[1]}
			return call.Set("ref_title", title).Set("ref_why", why).Set("group", cluster).Set("root", root).Set("commit", commit), nil
		})
	}
	return c
}

// The two forms of a target.
const (
	lineForm = `^(.+?)(?::|#L)(\d+)(?:(?:-L?)(\d+))?$`
	nameForm = `^(.+):([\pL_$][\pL\pN_$]*)$`
)

// target reads FILE:LINES. A file of the default source root may be named as seen from the working directory.
func (g group) target(arg, root string) (string, [2]int, error) {
	bad := command.ErrUsage.WithMessage("no lines given in %q", arg).WithDetails(command.Hint("use FILE:12-40, FILE:12 or FILE:Name"))
	if m := regexp.MustCompile(lineForm).FindStringSubmatch(arg); m != nil {
		from, err := strconv.Atoi(m[2])
		to := from
		if m[3] != "" && err == nil {
			to, err = strconv.Atoi(m[3])
		}
		if err != nil {
			return "", [2]int{}, bad
		}
		file, seen := g.below(m[1], root)
		if seen == "" && root == "" {
			g.Note("warning: cannot read %s; the pack will show it as stale", m[1])
		}
		if has, err := lineCount(seen); err == nil && 0 < from && from <= to && to > has {
			return "", [2]int{}, command.ErrUsage.WithMessage("%s has %s; there is no %s", m[1], linesOf(has), strings.TrimLeft(arg[len(m[1]):], ":#L")).
				WithDetails(command.Hint("use existing lines, or FILE:Name for the definition of Name"))
		}
		return file, [2]int{from, to}, nil
	}
	m := regexp.MustCompile(nameForm).FindStringSubmatch(arg)
	if m == nil {
		return "", [2]int{}, bad
	}
	text, err := os.ReadFile(m[1])
	if err != nil {
		return "", [2]int{}, bad.WithMessage("cannot read %s to find %s", m[1], m[2])
	}
	for _, d := range outline.Find(m[1], string(text)) {
		if d.Name == m[2] {
			file, _ := g.below(m[1], root)
			return file, [2]int{d.First, d.Last}, nil
		}
	}
	return "", [2]int{}, bad.WithMessage("definition of %[2]s not found in %[1]s; give its lines", m[1], m[2])
}

// below returns the path as the source root sees it, and where the file was seen; empty is nowhere.
func (g group) below(file, root string) (path, seen string) {
	if root != "" {
		return file, ""
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return file, file
	}
	base, err := g.SourceRoot()
	if err != nil {
		return file, abs
	}
	if _, err := os.Stat(abs); err != nil {
		inRoot := filepath.Join(base, file)
		if _, err := os.Stat(inRoot); err != nil {
			return file, ""
		}
		return file, inRoot
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return file, abs
	}
	return filepath.ToSlash(rel), abs
}

// lineCount returns how many lines a regular file has, counted as packs do: a last line needs no end.
func lineCount(name string) (int, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return 0, err
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	r, lines, open := bufio.NewReader(f), 0, false
	for {
		part, err := r.ReadSlice('\n')
		if len(part) > 0 {
			if !open {
				lines++
			}
			open = part[len(part)-1] != '\n'
		}
		switch {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
}

// linesOf returns a number of lines in words.
func linesOf(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// freeKey returns a key for an anchor: the file's name and line, with a number behind it when that is taken.
func freeKey(file string, line int, taken []keyed) string {
	const longest = 48
	base := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(path.Base(file))), "-_")
	if base == "" {
		base = "file"
	}
	base = fmt.Sprintf("%s-%d", base[:min(len(base), longest)], line)
	key := base
	for n := 2; ; n++ {
		used := false
		for _, k := range taken {
			used = used || k.Key == key
		}
		if !used {
			return key
		}
		key = fmt.Sprintf("%s-%d", base, n)
	}
}

func (g group) note() *cobra.Command {
	var where place
	var replace bool
	c := &cobra.Command{Use: "note TEXT...", Short: "Add a note to a section; - reads it from stdin", Args: command.Args(1, -1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: `  countersign pack note "The token is refreshed twice." --section findings`}
	where.flags(c, g, "notes")
	c.Flags().BoolVar(&replace, "replace", false, "replace the section's text instead of adding a paragraph")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		text := strings.Join(args, " ")
		if text == "-" {
			read, err := g.read(text)
			if err != nil {
				return err
			}
			text = strings.TrimSpace(read)
		}
		if strings.TrimSpace(text) == "" {
			return command.Usage(cmd, "the note is empty")
		}
		return g.describe(cmd.Context(), where, text, replace)
	}
	return c
}

// describe adds a paragraph to the text of a section, or replaces all of it.
func (g group) describe(ctx context.Context, where place, text string, replace bool) error {
	ident, err := g.open(ctx, where)
	if err != nil {
		return err
	}
	return g.change(ctx, ident, "noted in section "+where.section+" of", func(p stored) (command.Arguments, error) {
		s, _ := p.section(where.section)
		whole := text
		if s.Description != "" && !replace {
			whole = s.Description + "\n\n" + text
		}
		return command.Arguments{"action": "upsert_section", "section_key": where.section, "section_title": s.Title, "section_description": whole}, nil
	})
}

func (g group) diagram() *cobra.Command {
	var where place
	var key, title, why string
	c := &cobra.Command{Use: "diagram FILE", Short: "Add a Mermaid diagram to a section; - reads it from stdin", Args: command.Args(1, 1),
		Example: `  countersign pack diagram flow.mmd --title "Call order" --why "the retry is here"`}
	where.flags(c, g, "diagrams")
	c.Flags().StringVar(&key, "key", "", "key of the diagram (default: from the file's name)")
	c.Flags().StringVar(&title, "title", "", "title of the diagram (default: the file's name)")
	c.Flags().StringVar(&why, "why", "", "why it is in the pack")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		name := strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
		if args[0] == "-" {
			name = "diagram"
		}
		text, err := g.read(args[0])
		if err != nil {
			return err
		}
		if title == "" {
			title = name
		}
		ident, err := g.open(cmd.Context(), where)
		if err != nil {
			return err
		}
		return g.change(cmd.Context(), ident, "drew "+title+" in", func(p stored) (command.Arguments, error) {
			k := key
			if k == "" {
				s, _ := p.section(where.section)
				k = freeKey(name, len(s.Diagrams)+1, s.Diagrams)
			}
			return command.Arguments{"action": "upsert_diagram", "section_key": where.section, "diagram_key": k, "title": title, "mermaid": text}.Set("diagram_why", why), nil
		})
	}
	return c
}

// read returns the text of a file, or of stdin for -.
func (g group) read(file string) (string, error) {
	var raw []byte
	var err error
	if file == "-" {
		raw, err = io.ReadAll(io.LimitReader(g.In, maxText))
	} else {
		raw, err = os.ReadFile(file)
	}
	if err != nil {
		return "", command.ErrUsage.WithMessage("cannot read the text: %v", err)
	}
	if strings.TrimSpace(string(raw)) == "" {
		return "", command.ErrUsage.WithMessage("no text in %s", file)
	}
	return string(raw), nil
}
