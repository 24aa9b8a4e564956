package outline

// grammar is how a language's definitions look.
type grammar struct {
	language string
	patterns []string // each captures the name first
	end      ending
	hash     bool // # begins a comment
}

// notNames are words that stand where a name would, in languages whose functions have no keyword.
var notNames = []string{"if", "for", "while", "switch", "return", "else", "do", "catch", "sizeof", "defined", "case", "new", "delete", "_"}

// languages maps a file name's ending to a language. (A map would be made at every start.)
var languages = []struct{ ending, language string }{
	{"go", "Go"}, {"rs", "Rust"}, {"py", "Python"}, {"pyi", "Python"}, {"rb", "Ruby"}, {"ex", "Elixir"}, {"exs", "Elixir"}, {"lua", "Lua"},
	{"js", "JavaScript"}, {"jsx", "JavaScript"}, {"mjs", "JavaScript"}, {"cjs", "JavaScript"}, {"ts", "TypeScript"}, {"tsx", "TypeScript"}, {"mts", "TypeScript"},
	{"vue", "TypeScript"}, {"svelte", "TypeScript"}, {"java", "Java"}, {"kt", "Kotlin"}, {"kts", "Kotlin"}, {"cs", "C#"}, {"swift", "Swift"}, {"scala", "Scala"},
	{"dart", "Dart"}, {"php", "PHP"}, {"c", "C"}, {"h", "C"}, {"cc", "C++"}, {"cpp", "C++"}, {"cxx", "C++"}, {"hpp", "C++"}, {"hh", "C++"}, {"m", "C"}, {"zig", "Zig"},
	{"sh", "Shell"}, {"bash", "Shell"}, {"zsh", "Shell"}, {"sql", "SQL"}, {"proto", "Protobuf"}, {"hs", "Haskell"}, {"ml", "OCaml"}, {"clj", "Clojure"},
	{"tf", "Terraform"}, {"r", "R"}, {"jl", "Julia"}, {"pl", "Perl"}, {"pm", "Perl"}, {"nim", "Nim"},
}

const (
	keyworded = `^\s{0,4}(?:(?:public|private|protected|internal|static|final|abstract|sealed|open|data|override|async|export|inline|suspend|partial|` +
		`readonly|virtual|case|implicit|lazy|mutating|default|native|synchronized|@\w+)\s+)*` +
		`(?:class|interface|enum|record|struct|trait|object|fun|func|function|def|protocol|actor|mixin|namespace)\s+(?:<[^>]*>\s*)?(?:\w+\.)?(\w+)`
	typedMethod = `^\s{2,4}(?:public|private|protected|internal|static|final|override|async|virtual|abstract|\s)+[\w<>\[\],.?]+\s+(\w+)\s*\([^;]*\{?\s*$`
	cFunction   = `^(?:[A-Za-z_][\w\s*&:<>,~]*?[\s*&])(?:\w+::)*~?([A-Za-z_]\w*)\s*\([^;]*$`
	cType       = `^(?:typedef\s+)?(?:template\s*<[^>]*>\s*)?(?:struct|class|enum|union)\s+(?:class\s+)?(\w+)[^;()]*$`
)

// grammars is how the definitions of each language look.
var grammars = []grammar{
	{language: "Go", patterns: []string{`^func (?:\([^)]*\) )?([\pL_][\pL\pN_]*)`, `^type ([\pL_][\pL\pN_]*)\b`}},
	{language: "Rust", patterns: []string{`^\s{0,4}(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|async\s+|unsafe\s+|const\s+|extern\s+"[^"]*"\s+)*` +
		`(?:fn|struct|enum|trait|union|type|macro_rules!)\s+(\w+)`}},
	{language: "Python", patterns: []string{`^ {0,4}(?:async\s+)?(?:def|class)\s+([\pL_][\pL\pN_]*)`}, end: indented, hash: true},
	{language: "Nim", patterns: []string{`^(?:proc|func|method|iterator|template|macro)\s+` + "`?" + `(\w+)`}, end: indented, hash: true},
	{language: "Ruby", patterns: []string{`^\s*(?:def|class|module)\s+(?:self\.)?([\w:]+[?!]?)`}, end: keyword, hash: true},
	{language: "Elixir", patterns: []string{`^\s*(?:defmodule|defp?|defmacro)\s+([\w.]+[?!]?)`}, end: keyword, hash: true},
	{language: "Lua", patterns: []string{`^(?:local\s+)?function\s+([\w.:]+)`}, end: keyword},
	{language: "Julia", patterns: []string{`^(?:mutable\s+)?(?:function|struct|module|macro)\s+(\w+)`}, end: keyword, hash: true},
	{language: "JavaScript", patterns: []string{`^(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\*?|class)\s+([\w$]+)`,
		`^(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*=>|[\w$]+\s*=>|class\b)`,
		`^(?:module\.)?exports\.([\w$]+)\s*=\s*(?:async\s*)?(?:function|\()`}},
	{language: "TypeScript", patterns: []string{`^(?:export\s+)?(?:declare\s+)?(?:default\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|interface|enum|type)\s+([\w$]+)`,
		`^(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\(.*=>|\(\s*$|[\w$]+\s*=>|class\b)`}},
	{language: "Java", patterns: []string{keyworded, typedMethod}},
	{language: "C#", patterns: []string{keyworded, typedMethod}},
	{language: "Kotlin", patterns: []string{keyworded}}, {language: "Swift", patterns: []string{keyworded}}, {language: "Scala", patterns: []string{keyworded}},
	{language: "Dart", patterns: []string{keyworded, typedMethod}}, {language: "PHP", patterns: []string{keyworded}, hash: true},
	{language: "C", patterns: []string{cType, cFunction}}, {language: "C++", patterns: []string{cType, cFunction}},
	{language: "Zig", patterns: []string{`^(?:pub\s+)?(?:export\s+)?(?:inline\s+)?fn\s+(\w+)`, `^(?:pub\s+)?const\s+(\w+)\s*=\s*(?:extern\s+|packed\s+)?(?:struct|enum|union)\b`}},
	{language: "Perl", patterns: []string{`^sub\s+(\w+)`}, hash: true},
	{language: "R", patterns: []string{`^([\w.]+)\s*(?:<-|=)\s*function\b`}, hash: true},
	{language: "Shell", patterns: []string{`^(?:function\s+)?([\w:.-]+)\s*\(\)\s*\{?\s*$`, `^function\s+([\w:.-]+)\s*\{`}, hash: true},
	{language: "SQL", patterns: []string{`(?i)^create\s+(?:or\s+replace\s+)?(?:temp\w*\s+)?(?:unique\s+)?(?:table|view|function|procedure|index|trigger|type)\s+(?:if\s+not\s+exists\s+)?["` + "`" + `]?([\w.]+)`}, end: statement},
	{language: "Protobuf", patterns: []string{`^(?:message|service|enum)\s+(\w+)`}},
	{language: "Terraform", patterns: []string{`^(?:resource\s+"\w+"|data\s+"\w+"|module|variable|output)\s+"([\w-]+)"`}, hash: true},
	{language: "Haskell", patterns: []string{`^(?:data|newtype|class|type)\s+(\w+)`, `^(\w+'?)\s*::`}, end: paragraph},
	{language: "OCaml", patterns: []string{`^(?:let(?:\s+rec)?|type|module)\s+(\w+)`}, end: paragraph},
	{language: "Clojure", patterns: []string{`^\(def\w*\s+(?:\^\S+\s+)?([^\s()]+)`}, end: braces},
}
