package packpages

import (
	"strings"
	"unicode/utf8"
)

// language is how a language looks: its words, and what its strings and comments begin and end with.
type language struct {
	words  string      // separated by blanks
	fold   bool        // words count in any case
	line   []string    // what begins a comment up to the end of the line
	blocks [][2]string // what begins and ends a comment of several lines
	quotes []quote     // longer ones first
	at     bool        // @word is a keyword: an annotation
	hash   bool        // #word is one: an instruction to a preprocessor
}

// quote is a kind of string.
type quote struct {
	open, shut string
	raw        bool // a backslash is only a backslash
	lines      bool // it may go over several lines
	short      bool // it is one only when it ends after one character
}

// longestChar is how long a character may be written, in bytes: '\u{10ffff}'.
const longestChar = 12

// length returns how long the string is behind its beginning, with its end, and whether it has one. Without one it ends with the line, or with the text.
func (q quote) length(text string) (n int, closed bool) {
	if q.short {
		room := longestChar
		if !strings.HasPrefix(text, `\`) {
			_, letter := utf8.DecodeRuneInString(text)
			room = letter + 1
		}
		text = text[:min(len(text), room)]
	}
	for n < len(text) {
		switch {
		case text[n] == '\\' && !q.raw && n+1 < len(text) && (q.lines || text[n+1] != '\n'):
			n += 2
		case strings.HasPrefix(text[n:], q.shut):
			return n + len(q.shut), true
		case text[n] == '\n' && !q.lines:
			return n, false
		default:
			n++
		}
	}
	return n, false
}

func double() quote { return quote{open: `"`, shut: `"`} }
func single() quote { return quote{open: "'", shut: "'"} }
func over(mark string, raw bool) quote {
	return quote{open: mark, shut: mark, raw: raw, lines: true}
}

func slashes() [][2]string { return [][2]string{{"/*", "*/"}} }

// languageOf returns the language of an info string in lower case.
func languageOf(name string) (language, bool) {
	switch name {
	case "go", "golang":
		return language{words: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return " +
			"select struct switch type var nil true false iota any bool byte error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 " +
			"uint32 uint64 uintptr", line: []string{"//"}, blocks: slashes(), quotes: []quote{double(), over("`", true), single()}}, true
	case "js", "javascript", "jsx", "mjs", "ts", "typescript", "tsx":
		return language{words: "abstract any as async await boolean break case catch class const constructor continue debugger declare default delete do else " +
			"enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null " +
			"number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown " +
			"var void while with yield", line: []string{"//"}, blocks: slashes(), quotes: []quote{double(), single(), over("`", false)}, at: true}, true
	case "py", "python", "python3":
		return language{words: "False None True and as assert async await break case class continue def del elif else except finally for from global if import " +
			"in is lambda match nonlocal not or pass raise return self try while with yield", line: []string{"#"},
			quotes: []quote{over(`"""`, false), over("'''", false), double(), single()}, at: true}, true
	case "rs", "rust":
		return language{words: "Err None Ok Self Some as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i128 i16 i32 " +
			"i64 i8 if impl in isize let loop match mod move mut pub ref return self static str struct super trait true type u128 u16 u32 u64 u8 unsafe use " +
			"usize where while", line: []string{"//"}, blocks: slashes(), quotes: []quote{{open: `r#"`, shut: `"#`, raw: true, lines: true}, over(`"`, false),
			{open: "'", shut: "'", short: true}}}, true
	case "java", "kt", "kotlin", "cs", "csharp", "scala", "swift", "dart":
		return language{words: "abstract as assert async await base bool boolean break byte case catch char class const continue data default do double else enum " +
			"extends false final finally float for fun func goto guard if implements import in init instanceof int interface internal is let long namespace " +
			"native new nil null object open operator out override package private protected public readonly record return sealed short static string " +
			"struct super switch synchronized this throw throws transient true try typealias typeof using val var virtual void volatile when while with yield",
			line: []string{"//"}, blocks: slashes(), quotes: []quote{over(`"""`, true), double(), single()}, at: true}, true
	case "c", "h", "cpp", "c++", "cc", "hpp", "cxx", "objc":
		return language{words: "alignas alignof auto bool break case catch char class concept const consteval constexpr continue decltype default delete do double " +
			"else enum explicit extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private " +
			"protected public register requires restrict return short signed sizeof static struct switch template this throw true try typedef typename union " +
			"unsigned using virtual void volatile while NULL", line: []string{"//"}, blocks: slashes(), quotes: []quote{double(), single()}, hash: true}, true
	}
	return plainer(name)
}

// plainer returns the languages of configuration, queries, styles and shells.
func plainer(name string) (language, bool) {
	switch name {
	case "sh", "bash", "zsh", "shell", "console", "dockerfile", "make", "makefile":
		return language{words: "alias break case cd continue do done echo elif else esac eval exec exit export fi for function if in local read readonly return " +
			"set shift source test then trap unset until while", line: []string{"#"}, quotes: []quote{over(`"`, false), over("'", true)}}, true
	case "json", "jsonc", "json5":
		return language{words: "true false null", line: []string{"//"}, blocks: slashes(), quotes: []quote{double()}}, true
	case "yaml", "yml":
		return language{words: "true false null yes no on off", fold: true, line: []string{"#"}, quotes: []quote{double(), {open: "'", shut: "'", raw: true}}}, true
	case "toml", "ini":
		return language{words: "true false", line: []string{"#"}, quotes: []quote{over(`"""`, false), over("'''", true), double(), {open: "'", shut: "'", raw: true}}}, true
	case "sql":
		return language{words: "add all alter and as asc begin between by case cast check coalesce column commit conflict constraint count create cross database " +
			"default delete desc distinct do drop else end except exists foreign from full group having if in index inner insert intersect into is join key " +
			"left like limit not null offset on or order outer primary references returning right rollback select set table then transaction trigger union " +
			"unique update using values view when where with integer text blob boolean timestamp varchar", fold: true, line: []string{"--"}, blocks: slashes(),
			quotes: []quote{over("'", true), over(`"`, true)}}, true
	case "css", "scss", "less":
		return language{words: "important inherit initial unset revert none auto var calc", blocks: slashes(), quotes: []quote{double(), single()}, at: true}, true
	}
	return language{}, false
}
