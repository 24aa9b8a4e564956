package projectfile_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

func parse(text string) shellcmd.ShellScript { return projectfile.Parser{}.Parse(text) }

// programs returns the first words of a script's commands.
func programs(s shellcmd.ShellScript) []string {
	var out []string
	for _, c := range s.Commands {
		if len(c.Words) > 0 {
			text, _ := c.Words[0].Literal()
			out = append(out, text)
		}
	}
	return out
}

func TestEveryCommandComesOut(t *testing.T) {
	for text, want := range map[string]string{
		"a; b && c || d | e & f":                             "a b c d e f",
		"echo $(a $(b))":                                     "b a echo",
		"echo `a`":                                           "a echo",
		`echo "x $(a) ${Y:-$(b)}" <(c) > $(d)`:               "d a b c echo", // the redirect is read first
		"(a; { b; })":                                        "a b",
		"if a; then b; elif c; then d; else e; fi":           "a b c d e",
		"while a; do b; done; until c; do d; done":           "a b c d",
		"for x in $(a); do b; done":                          "a b",
		"case $(a) in $(b)) c;; *) d;; esac":                 "a b c d",
		"f() { a; }; function g { b; }; f":                   "a b f",
		"[[ $(a) == b ]] && c":                               "a c",
		"echo $((1 + $(a)))":                                 "a echo",
		"time a; coproc b; ! c":                              "a b c",
		"X=$(a); export Y=$(b); Z=($(c)); declare -x W=$(d)": "a b export c d declare",
		"cat <<EOF\n$(a)\nEOF":                               "a cat",
		"cat <<'EOF'\n$(a)\nEOF":                             "cat",
		"a 2>&1 |& b":                                        "a b",
		"# a":                                                "",
		"":                                                   "",
	} {
		s := parse(text)
		assert.Empty(t, s.Unparsable, text)
		got := strings.Join(programs(s), " ")
		assert.True(t, got == want || strings.HasPrefix(got, want+" "), "%s: %s", text, got)
		sound(t, s)
	}
}

func TestWordsAreWhatTheProgramGets(t *testing.T) {
	for text, want := range map[string]string{
		`a b`: "a|b", `"a" 'b' c\ d`: "a|b|c d", `a"b"'c'\d`: "abcd", `"\$x \` + "`" + ` \" \\ \y"`: "$x ` \" \\ \\y", `''`: "", `a ""`: "a|", `'\n'`: `\n`,
		"a\\\nb": "ab", `"a` + "\\\n" + `b"`: "ab", `\*`: "*", `'*'`: "*", `a=b`: "", `$'\x72\155\u002d\t\e\''`: "rm-\t\x1b'",
	} {
		s := parse(text)
		require.Empty(t, s.Unparsable, text)
		var words []string
		for _, w := range s.Commands[0].Words {
			literal, known := w.Literal()
			require.True(t, known, text)
			words = append(words, literal)
		}
		assert.Equal(t, want, strings.Join(words, "|"), text)
	}
}

func TestPartsThatAreOnlyKnownLater(t *testing.T) {
	for text, want := range map[string][]shellcmd.Part{
		`~/x`:       {{Kind: shellcmd.PartTilde, Source: "~"}, {Text: "/x"}},
		`~ann`:      {{Kind: shellcmd.PartTilde, Text: "ann", Source: "~ann"}},
		`"~"`:       {{Text: "~", Quoted: true}},
		`a~`:        {{Text: "a~"}},
		`*.c`:       {{Kind: shellcmd.PartPattern, Text: "*", Source: "*"}, {Text: ".c"}},
		`$X`:        {{Kind: shellcmd.PartVariable, Text: "X", Source: "$X"}},
		`"${X:-y}"`: {{Kind: shellcmd.PartVariable, Text: "X", Source: "${X:-y}", Quoted: true, Operator: ":-", Other: []shellcmd.Part{{Text: "y", Quoted: true}}}},
		`$((1))`:    {{Kind: shellcmd.PartComputed, Source: "$((1))"}},
		`${#X}`:     {{Kind: shellcmd.PartComputed, Source: "${#X}"}},
		`$(a)`:      {{Kind: shellcmd.PartSubstitution, Source: "$(a)", Inside: shellcmd.Span{From: 0, To: 1}}},
	} {
		s := parse("x " + text)
		require.Empty(t, s.Unparsable, text)
		assert.Equal(t, want, s.Commands[len(s.Commands)-1].Words[1].Parts, text)
	}
}

func TestRedirectsSayWhatTheyWrite(t *testing.T) {
	for text, writes := range map[string]bool{
		"a > f": true, "a >> f": true, "a >| f": true, "a <> f": true, "a &> f": true, "a &>> f": true, "a >& f": true, "a 2> f": true,
		"a < f": false, "a 2>&1": false, "a >&-": false, "a <<< f": false, "a <<E\nf\nE": false, "a >&$X": true, "a <&3": false,
	} {
		s := parse(text)
		require.Empty(t, s.Unparsable, text)
		require.Len(t, s.Commands[0].Redirects, 1, text)
		assert.Equal(t, writes, s.Commands[0].Redirects[0].Writes(), text)
	}
}

func TestPipesJoinAllThatMayBeRead(t *testing.T) {
	s := parse("a | (b; c) | d")
	reads := map[string]string{}
	for i, name := range programs(s) {
		for _, p := range s.Pipes {
			for j, from := range programs(s) {
				if p.To.Has(i) && p.From.Has(j) {
					reads[name] += from
				}
			}
		}
	}
	assert.Equal(t, "a", reads["b"])
	assert.Equal(t, "a", reads["c"])
	assert.Contains(t, reads["d"], "bc")
}

func TestWhatStandsBeforeAnErrorIsKept(t *testing.T) {
	s := parse("rm -rf x\nif")
	assert.NotEmpty(t, s.Unparsable)
	assert.Contains(t, programs(s), "rm")
	s = parse(`{ echo "; rm x`)
	assert.NotEmpty(t, s.Unparsable)
	assert.Contains(t, programs(s), "rm")
	assert.Contains(t, parse("a\x00b").Unparsable, "NUL")
	assert.Contains(t, parse(strings.Repeat("a", project.MaxCommand+1)).Unparsable, "8193 bytes")
	assert.Empty(t, parse(strings.Repeat("a", project.MaxCommand)).Unparsable)
}

// corpus are texts that some shell reads.
func corpus() []string {
	return []string{
		"ls", "a;b", "a && b || c", "a | b", "(a)", "{ a; }", "if a; then b; fi", "while a; do b; done", "for x in 1 2; do a; done", "for x; do a; done", "case x in a|b) c;; esac", "f() { a; }", "f() (a)",
		"cat <<E\na\nE", "cat <<-E\n\ta\n\tE", "a > b 2>&1", "X=1 a", "X=1", ": ${X:=y}", "echo $((1+2))", "echo `a \\`b\\``", `echo "a'b"`, `echo 'a"b'`, "a &", "a & b", "! a", "a\\\nb", "# c", "a # c", "",
		"test -f x && . ./x", "[ a = b ]", "a () { b; }; a", "((a))", "( (a) )", "echo {a,b}", "echo ~", "echo *", `echo \$`, "a;;", "if", "fi", "(", ")", "}", "a | | b", "a &&", "'", `"`, "$(", "`", "<", "a >",
		"case x in esac", "{ a", "a; ; b", "&", "a & & b", "function f { a; }", "[[ a ]]", "a <(b)", "a |& b", "a &> b", "X=(1)", "echo $'a'", "echo ${X/a/b}", "a <<< b", "select x in a; do b; done", "for ((;;)); do a; done",
	}
}

func TestWhatThisMachinesShellReadsIsRead(t *testing.T) {
	for _, name := range []string{"sh", "bash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("there is no %s here", name)
		}
		for _, text := range corpus() {
			if exec.Command(path, "-n", "-c", text).Run() == nil {
				assert.Empty(t, parse(text).Unparsable, "%s reads %q", name, text)
			}
		}
	}
}

func TestArgvIsWhatAShellMakesOfIt(t *testing.T) {
	for text, want := range map[string]bool{
		"npm test": true, "npm run build -- --force": true, `a 'b c' "d e" f\ g h"i"j`: true, `grep -r "a*b" .`: true, `a '$X' '~' '#' \* \~ \$X`: true, "npm test # comment": true, " npm   ci ": true, `a "" ''`: true, `a é`: true,
		"a {}": true, "a a=b": true, "a %s\\n": true,
		"a *": false, "a ~": false, "a $X": false, "a $(b)": false, "a `b`": false, "a; b": false, "a | b": false, "a &": false, "a > b": false, "X=1 a": false, "a {b,c}": false, "a {1..1}": false, "(a)": false, "! a": false, "a b?": false, "a [b]": false,
		"cd x": false, "echo a": false, "test -f x": false, "exit 1": false, ":": false, "export X": false, "time a": false, "$'a' b": false, "a $'b'": false, `"" a`: false, "": false, "# a": false, "a\nb": false, "a <<E\nE": false, "a )": false, "if": false,
	} {
		argv, plain := parse(text).Argv()
		assert.Equal(t, want, plain, text)
		for _, name := range []string{"sh", "bash"} {
			path, err := exec.LookPath(name)
			if !plain || err != nil {
				continue
			}
			out, err := exec.Command(path, "-c", "set -- "+text+"\nprintf '%s\\n' \"$@\"").Output()
			require.NoError(t, err, text)
			assert.Equal(t, strings.Join(argv, "\n")+"\n", string(out), "%s: %s", name, text)
		}
	}
}

// sound fails when a script refers to what it has not.
func sound(t *testing.T, s shellcmd.ShellScript) {
	t.Helper()
	inside := func(sp shellcmd.Span, limit int) {
		assert.True(t, 0 <= sp.From && sp.From <= sp.To && sp.To <= limit, "%v of %d", sp, limit)
	}
	var parts func(list []shellcmd.Part)
	parts = func(list []shellcmd.Part) {
		for _, p := range list {
			inside(p.Inside, len(s.Commands))
			parts(p.Other)
		}
	}
	for _, tree := range [][]int{s.Shells, s.Blocks} {
		for i, parent := range tree {
			assert.Less(t, parent, i)
		}
	}
	for _, p := range s.Pipes {
		inside(p.From, len(s.Commands))
		inside(p.To, len(s.Commands))
	}
	for _, c := range s.Commands {
		assert.True(t, c.Shell < len(s.Shells) && c.Block < len(s.Blocks))
		for _, w := range c.Words {
			parts(w.Parts)
		}
		for _, a := range c.Assigns {
			parts(a.Value.Parts)
		}
		for _, r := range c.Redirects {
			parts(r.Target.Parts)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range corpus() {
		f.Add(text)
	}
	f.Add("r&000\x8f00") // what the parser says twice
	f.Fuzz(func(t *testing.T, text string) {
		s := parse(text)
		sound(t, s)
		if argv, plain := s.Argv(); plain {
			assert.NotEmpty(t, argv[0])
			assert.Empty(t, s.Unparsable)
		}
	})
}
