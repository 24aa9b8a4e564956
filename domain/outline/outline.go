package outline

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Definition is one function, type, table or the like.
type Definition struct {
	Name  string
	First int // line it begins at, its comment included; from 1
	Line  int // line that names it
	Last  int
	Doc   string // first sentence of its comment, in one line
}

// Lines returns how many lines it spans.
func (d Definition) Lines() int { return d.Last - d.First + 1 }

// ending says how a language closes a definition.
type ending uint8

const (
	braces ending = iota
	indented
	keyword // a line "end" at the same indentation
	statement
	paragraph
)

// Scanner finds definitions. The zero Scanner is ready; it is not safe for concurrent use.
type Scanner struct {
	compiled map[string][]*regexp.Regexp
}

// Find lists what one file defines, with a Scanner of its own.
func Find(file, text string) []Definition { return new(Scanner).Definitions(file, text) }

// LanguageOf returns the language of a source file, by its name's ending; empty is none that is known.
func LanguageOf(file string) string {
	ending := strings.ToLower(strings.TrimPrefix(path.Ext(file), "."))
	for _, l := range languages {
		if l.ending == ending {
			return l.language
		}
	}
	return ""
}

// Definitions lists what text defines, in order. file says the language.
func (s *Scanner) Definitions(file, text string) []Definition {
	lang := LanguageOf(file)
	known := slices.IndexFunc(grammars, func(g grammar) bool { return g.language == lang })
	if known < 0 {
		return nil
	}
	g := grammars[known]
	patterns := s.patterns(lang, g)
	lines := strings.Split(text, "\n")
	var out []Definition
	for i, line := range lines {
		name := named(patterns, line)
		if name == "" {
			continue
		}
		first := commentAbove(lines, i)
		d := Definition{Name: name, First: first + 1, Line: i + 1, Last: g.last(lines, i) + 1, Doc: sentence(lines[first:i])}
		if d.Doc == "" && g.end == indented {
			d.Doc = docstring(lines, i)
		}
		out = append(out, d)
	}
	return out
}

func (s *Scanner) patterns(lang string, g grammar) []*regexp.Regexp {
	if p, ok := s.compiled[lang]; ok {
		return p
	}
	var p []*regexp.Regexp
	for _, source := range g.patterns {
		p = append(p, regexp.MustCompile(source))
	}
	if s.compiled == nil {
		s.compiled = map[string][]*regexp.Regexp{}
	}
	s.compiled[lang] = p
	return p
}

func named(patterns []*regexp.Regexp, line string) string {
	if len(line) > 400 || strings.TrimSpace(line) == "" {
		return ""
	}
	for _, p := range patterns {
		if m := p.FindStringSubmatch(line); m != nil && !slices.Contains(notNames, m[1]) {
			return m[1]
		}
	}
	return ""
}

// maxComment is how many lines of comment belong to a definition at most.
const maxComment = 12

// commentAbove returns the index of the first line of the comments and attributes directly above line i.
func commentAbove(lines []string, i int) int {
	first := i
	for first > 0 && i-first < maxComment {
		t := strings.TrimSpace(lines[first-1])
		if !isComment(t) && !strings.HasPrefix(t, "@") && !strings.HasPrefix(t, "#[") {
			break
		}
		first--
	}
	return first
}

func isComment(t string) bool {
	if word, ok := strings.CutPrefix(t, "#"); ok && len(word) > 0 && (unicode.IsLower(rune(word[0])) || word[0] == '!' || word[0] == '[') {
		return false // a directive, an attribute or an interpreter
	}
	for _, mark := range []string{"//", "/*", "*", "#", "--", ";;", `"""`, "%%"} {
		if strings.HasPrefix(t, mark) {
			return true
		}
	}
	return false
}

// sentence returns the first sentence of a comment's lines.
func sentence(comment []string) string {
	var words []string
	for _, line := range comment {
		t := strings.TrimSpace(line)
		if !isComment(t) {
			continue
		}
		t = strings.TrimSpace(strings.Trim(t, "/*#-;!\"% \t"))
		if t == "" && len(words) > 0 {
			break
		}
		words = append(words, strings.Fields(t)...)
	}
	return firstSentence(strings.Join(words, " "))
}

const maxDoc = 160 // bytes

func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	if len(text) > maxDoc {
		cut := strings.LastIndexByte(text[:maxDoc], ' ')
		if cut <= 0 {
			return ""
		}
		text = text[:cut] + " …"
	}
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < 8 {
		return ""
	}
	return text
}

// docstring returns the first sentence of the string right below a definition.
func docstring(lines []string, i int) string {
	for n := i + 1; n < len(lines) && n < i+6; n++ {
		t := strings.TrimSpace(lines[n])
		for _, quote := range []string{`"""`, "'''"} {
			if rest, ok := strings.CutPrefix(t, quote); ok {
				rest, _, _ = strings.Cut(rest, quote)
				return firstSentence(strings.TrimSpace(rest))
			}
		}
	}
	return ""
}
