package projectfile

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// The bounds of one answer. What is beyond them is said not to be bound.
const (
	maxFiles = 200
	maxSize  = 64 << 20  // bytes of a file
	maxAll   = 256 << 20 // bytes of all of them
	maxText  = 64 << 10  // bytes of a file that are looked through
	maxLines = 500       // recipes of a file
	maxNotes = 40
	maxUp    = 64 // directories above
)

// Reader implements ports.CodeReader. It is safe for concurrent use.
type Reader struct {
	Parser projectport.ShellParser // required
	Home   string                  // what ~ is; empty is not known
}

var _ ports.CodeReader = Reader{}

// Code implements ports.CodeReader.
func (r Reader) Code(ctx context.Context, root string, commands []process.ShellCommand) (process.Code, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return process.Code{}, nil //nolint:nilerr // nothing of it can be read, by whomever
	}
	if info, err := os.Lstat(real); err != nil || !info.IsDir() {
		return process.Code{}, nil //nolint:nilerr // likewise
	}
	in, err := os.OpenRoot(real)
	if err != nil {
		return process.Code{}, nil //nolint:nilerr // likewise
	}
	defer in.Close()
	s := &search{reader: r, in: in, root: real, spelled: path.Clean(root), found: map[string]process.CodeFile{}, notes: map[string]bool{}}
	for _, c := range commands {
		if err := s.text(ctx, s.real(c.Dir), c.Text, ""); err != nil {
			return process.Code{}, err
		}
	}
	return s.code(), nil
}

// search is one answer on its way.
type search struct {
	reader  Reader
	in      *os.Root
	root    string
	spelled string // the root as whoever asks spells it
	found   map[string]process.CodeFile
	notes   map[string]bool
	said    []string
	size    int64
}

// real returns a path that may begin with the root as it is spelled.
func (s *search) real(at string) string {
	if at == "" || !codeInside(s.spelled, at) {
		return at
	}
	return path.Join(s.root, strings.TrimPrefix(at, s.spelled))
}

func (s *search) code() process.Code {
	var out process.Code
	for _, r := range s.found {
		out.Reads = append(out.Reads, r)
	}
	slices.SortFunc(out.Reads, func(a, b process.CodeFile) int { return cmp.Compare(a.Path, b.Path) })
	if out.NotBound = s.said; len(s.said) > maxNotes {
		out.NotBound = append(s.said[:maxNotes:maxNotes], fmt.Sprintf("and %d more", len(s.said)-maxNotes))
	}
	return out
}

func (s *search) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !s.notes[text] {
		s.notes[text] = true
		s.said = append(s.said, text)
	}
}

// text finds what shell text in dir reads. within is the file that says it, empty for the command itself: what that file starts in turn is bound, and
// no further.
func (s *search) text(ctx context.Context, dir, text, within string) error {
	report := shellcmd.CheckScript(s.reader.Parser.Parse(text), shellcmd.CheckContext{Home: s.reader.Home, Project: s.root, Dir: dir, Parse: s.reader.Parser.Parse})
	entries, notes := shellcmd.CodeFiles(report.Starts)
	for _, n := range notes {
		s.note("%s", n)
	}
	for _, e := range entries {
		if err := s.entry(ctx, e, within); err != nil {
			return err
		}
	}
	return nil
}

// entry binds the files of an entry that are there.
func (s *search) entry(ctx context.Context, e shellcmd.CodeFile, within string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	there := false
	for _, dir := range e.Dirs {
		for up := range maxUp {
			for _, name := range e.Names {
				at, known := s.place(dir, name, within)
				if !known {
					continue
				}
				bound, err := s.file(ctx, e, at, dir, within == "")
				if err != nil {
					return err
				}
				if there = there || bound; bound && !e.All {
					break
				}
			}
			if !e.Up || there && !e.All || dir == "" || dir == s.root || up == maxUp-1 || !codeInside(s.root, dir) {
				break
			}
			dir = path.Dir(dir)
		}
	}
	if !there && e.Must {
		s.note("%s reads %s, which does not exist in the project now", e.By, shellcmd.DisplayText(e.Names[0]))
	}
	return nil
}

// place returns the path of a name, as far as it can be told.
func (s *search) place(dir, name, within string) (string, bool) {
	if rest, ok := shellcmd.Beside(name); ok {
		if within == "" {
			return "", false
		}
		return path.Join(path.Dir(within), rest), true
	}
	switch {
	case name == "":
		return "", false
	case path.IsAbs(name):
		return s.real(path.Clean(name)), true
	case dir == "":
		return "", false
	}
	return path.Join(dir, name), true
}

// codeInside reports whether a path is dir or below it.
func codeInside(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// file binds one file; it reports whether there is one. deeper says that what it starts is looked for too.
func (s *search) file(ctx context.Context, e shellcmd.CodeFile, at, dir string, deeper bool) (bool, error) {
	if !codeInside(s.root, at) {
		info, err := os.Stat(at)
		if err != nil || !info.Mode().IsRegular() {
			return false, nil //nolint:nilerr // there is none
		}
		if !ofSystem(at) {
			s.note("%s is outside the project", at)
		}
		return true, nil
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return false, nil //nolint:nilerr // there is none
	}
	shown, _ := filepath.Rel(s.root, at)
	if !codeInside(s.root, real) {
		s.note("%s leads outside the project", shown)
		return true, nil
	}
	name, err := filepath.Rel(s.root, real)
	if err != nil {
		return false, err
	}
	if name = filepath.ToSlash(name); s.found[name].Path != "" {
		return true, nil
	}
	if len(s.found) == maxFiles {
		s.note("it reads more than %d files; only the first ones are listed", maxFiles)
		return true, nil
	}
	read, head, err := s.read(ctx, name)
	switch {
	case errors.Is(err, errCodeIrregular), errors.Is(err, fs.ErrNotExist):
		return false, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		s.note("%s cannot be read, or is too large to be covered by the plan", shown)
		return true, nil
	}
	s.found[name] = read
	s.size += read.Size
	if !deeper || e.Look == shellcmd.ScanWhole {
		return true, nil
	}
	return true, s.through(ctx, e, dir, at, read, head)
}

// ofSystem reports a program that came with the machine, which no agent's work is in.
func ofSystem(at string) bool {
	return slices.ContainsFunc([]string{"/bin", "/sbin", "/usr", "/opt/homebrew", "/home/linuxbrew", "/nix/store"}, func(dir string) bool { return codeInside(dir, at) })
}

var errCodeIrregular = errors.New("it is not a regular file")

// read returns a file's hash, and how it begins.
func (s *search) read(ctx context.Context, name string) (process.CodeFile, []byte, error) {
	info, err := s.in.Lstat(name) // before opening: opening a device can do something
	switch {
	case err != nil:
		return process.CodeFile{}, nil, err
	case !info.Mode().IsRegular():
		return process.CodeFile{}, nil, errCodeIrregular
	case info.Size() > maxSize || s.size+info.Size() > maxAll:
		return process.CodeFile{}, nil, fs.ErrInvalid
	}
	file, err := s.in.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe put in its place meanwhile does not block
	if err != nil {
		return process.CodeFile{}, nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
		return process.CodeFile{}, nil, errors.Join(err, errCodeIrregular)
	}
	hash := sha256.New()
	head := &beginning{}
	n, err := io.Copy(io.MultiWriter(hash, head), &bounded{ctx: ctx, from: io.LimitReader(file, maxSize+1)})
	if err == nil && n > maxSize {
		err = fs.ErrInvalid // it grew while it was read
	}
	return process.CodeFile{Path: name, SHA256: hex.EncodeToString(hash.Sum(nil)), Size: n}, head.text, err
}

// beginning keeps the first bytes that are written to it.
type beginning struct{ text []byte }

// Write keeps as much as there is room for.
func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), maxText-len(b.text))]...)
	return len(p), nil
}

// bounded ends with its context.
type bounded struct {
	ctx  context.Context
	from io.Reader
}

// Read reads unless the context has ended.
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.from.Read(p)
}

// through looks for what a file starts.
func (s *search) through(ctx context.Context, e shellcmd.CodeFile, dir, at string, read process.CodeFile, head []byte) error {
	look := e.Look
	if look == shellcmd.ScanShebang {
		if look = shellcmd.ScanWhole; shellLine(head) {
			look = shellcmd.ScanShell
		}
	}
	limit := int64(maxText)
	if look == shellcmd.ScanShell {
		limit = project.MaxCommand
	}
	switch {
	case look == shellcmd.ScanWhole:
		return nil
	case read.Size > limit:
		s.note("%s is too long to inspect: the plan does not cover what it starts", read.Path)
		return nil
	case look == shellcmd.ScanShell:
		s.note("what the programs that %s starts load in turn", read.Path)
		return s.text(ctx, dir, string(head), at)
	}
	for _, line := range recipes(head) {
		if err := s.text(ctx, path.Dir(at), line, at); err != nil {
			return err
		}
	}
	return nil
}

// shellLine reports a script whose first line names a shell, or that has none and is text: a shell runs that itself.
func shellLine(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	rest, has := bytes.CutPrefix(line, []byte("#!"))
	if !has {
		return len(head) > 0 && !bytes.ContainsRune(head, 0)
	}
	for _, word := range strings.Fields(string(rest)) {
		if slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash"}, path.Base(word)) {
			return true
		}
	}
	return false
}

// recipes returns the lines of a file that shells may be given: those that are indented or stand behind a dash or a cmd.
func recipes(text []byte) (out []string) {
	made := regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`) // make's variables, which a shell would run
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() && len(out) < maxLines {
		line := lines.Text()
		bare := strings.TrimLeft(line, " \t")
		if bare == line || bare == "" || bare[0] == '#' {
			continue
		}
		for _, lead := range []string{"- ", "cmd:", "sh:", "@", "-", "+"} {
			bare = strings.TrimSpace(strings.TrimPrefix(bare, lead))
		}
		if quote := bare[:min(1, len(bare))]; (quote == `"` || quote == "'") && len(bare) > 1 && strings.HasSuffix(bare, quote) {
			bare = bare[1 : len(bare)-1]
		}
		if bare != "" && !strings.HasSuffix(bare, ":") {
			out = append(out, made.ReplaceAllString(bare, "$${$1}"))
		}
	}
	return out
}
