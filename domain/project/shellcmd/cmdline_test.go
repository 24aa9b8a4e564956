package shellcmd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

func follow(text string) *shellcmd.Trace {
	return shellcmd.TraceScript(projectfile.Parser{}.Parse(text), "/home/ann", "/work")
}

// started returns the programs that a script starts, with their arguments.
func started(text string) []string {
	c := follow(text)
	var out []string
	for at := range c.Script.Commands {
		runs, _ := c.Runs(at)
		for _, r := range runs {
			words := []string{r.Name}
			for _, a := range r.Args {
				words = append(words, shellcmd.DisplayText(a.First()))
			}
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

func TestProgramsBehindProgramsAreStarted(t *testing.T) {
	for text, want := range map[string]string{
		"env -i -u A X=1 a b":              "a b",
		"timeout -k 3 --signal=KILL 5 a b": "a b",
		"timeout --foreground 5 a":         "a",
		"nice -n 5 nohup setsid a":         "a",
		"sudo -u ann -E X=1 a":             "a",
		"xargs -0 -n1 -I {} a {}":          "a {}",
		"find x y -type f -exec a -b {} +": "a -b x y",
		"flock -w 3 /tmp/l a":              "a",
		"npx --yes -p b a c":               "a c",
		"npm exec -- a":                    "a",
		"pnpm dlx a b":                     "a b",
		"command -p a":                     "a",
		"taskset 0x3 -- a":                 "a",
		"stdbuf -oL a":                     "a",
	} {
		all := started(text)
		assert.Equal(t, want, all[len(all)-1], text)
	}
	assert.Equal(t, []string{"a b", shellcmd.MarkUnknown + " a b"}, started("$SUDO a b"))
	assert.Len(t, started("command -v a"), 1, "it only looks")
	assert.Len(t, started("npm run exec"), 1)
	assert.Len(t, started("timeout 5"), 1)
	assert.Empty(t, started("X=1 > f"))
}

func TestTooManyProgramsInOneAnotherAreSaid(t *testing.T) {
	_, all := follow(strings.Repeat("env ", 16) + "a").Runs(0)
	assert.True(t, all)
	_, all = follow(strings.Repeat("env ", 17) + "a").Runs(0)
	assert.False(t, all)
}

func TestWordsBecomeWhatTheyMay(t *testing.T) {
	for text, want := range map[string]string{
		"x a$HOME":                         "a/home/ann",
		"x ~/b":                            "/home/ann/b",
		"x ~bob":                           "~bob",
		"x $PWD $(pwd)":                    "/work /work",
		"X=a; x $X":                        "a",
		"X=a; X=b; x $X":                   "b",
		"X=a; X+=b; x $X":                  "ab a", // a POSIX shell starts a program X+=b
		"X=a; true && X=b; x $X":           "b|a",
		"true && X=b; x $X":                "b|…",
		"true && X=b && x $X":              "b",
		"if a; then X=b; x $X; fi":         "b",
		"(X=a); x $X":                      "…",
		"X=a; (x $X)":                      "a",
		"X=a | x $X":                       "…",
		"X=a x $X":                         "…",
		"X='a b'; x $X":                    "a b", // two words
		"X='a b'; x \"$X\"":                "a b",
		"for X in a b; do x $X; done":      "a|b",
		"export X=a; x ${X}":               "a a", // read in two ways
		"x ${X:-a}":                        "…|a",
		"X=b; x ${X:-a}":                   "b|a",
		"x ${X:?}":                         "…",
		"x $(echo a b)c":                   "a bc",
		"X=a; read X; x $X":                "…",
		"X=a; unset X; x \"$X\"":           "",
		"x $((1+1)) *":                     "… *",
		"f() { x $1; }; f a":               "a|…",
		"f() { x $2; }; f a b":             "b|…",
		"cd sub; x $PWD":                   "/work/sub",
		"cd sub && cd ..; cd ../o; x $PWD": "/o|/work/o", // whether there is a sub is not known
		"cd -; x $PWD":                     "…",
		"cd a || cd b; x $PWD":             "/work/a/b|/work/a",
		"(cd a); x $PWD":                   "/work",
	} {
		c := follow(text)
		var got []string
		for at, command := range c.Script.Commands {
			if len(command.Words) == 0 || command.Words[0].Source != "x" {
				continue
			}
			for _, w := range command.Words[1:] {
				var values []string
				for _, v := range c.Values(at, w.Parts, false) {
					values = append(values, shellcmd.DisplayText(v))
				}
				got = append(got, strings.Join(values, "|"))
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), text)
	}
}

func TestEmptyVariablesAreToldApart(t *testing.T) {
	c := follow(`x "$X/"`)
	word := c.Script.Commands[0].Words[1]
	assert.Equal(t, []string{shellcmd.MarkUnknown + "/"}, c.Values(0, word.Parts, false))
	assert.Equal(t, []string{shellcmd.MarkUnknown + "/", "/"}, c.Values(0, word.Parts, true))
}

func TestAScriptInAScriptSeesItsVariables(t *testing.T) {
	outer := follow("X=a; cd sub; sh -c 'x'")
	inner := outer.Within(2, projectfile.Parser{}.Parse("x $X; cd ..; y"))
	require.Len(t, inner.Script.Commands, 3)
	assert.Equal(t, []string{"a"}, inner.Values(0, inner.Script.Commands[0].Words[1].Parts, true))
	assert.Equal(t, []string{"/work/sub/z"}, inner.Absolute(0, "z"))
	assert.Equal(t, []string{"/work/z"}, inner.Absolute(2, "z"))
}

func TestPathsThatAreNotKnownLeadNowhere(t *testing.T) {
	c := shellcmd.TraceScript(projectfile.Parser{}.Parse("x"), shellcmd.UnknownHome, "")
	assert.Empty(t, c.Absolute(0, "a"))
	assert.Empty(t, c.Absolute(0, ""))
	assert.Empty(t, c.Absolute(0, shellcmd.MarkUnknown+"/a"))
	assert.Equal(t, []string{"/a/c"}, c.Absolute(0, "/a//b/../c/"))
}

func TestOptionsAndOperands(t *testing.T) {
	words := func(text string) []shellcmd.Arg {
		var out []shellcmd.Arg
		for _, w := range strings.Fields(text) {
			out = append(out, shellcmd.KnownArg(w))
		}
		return out
	}
	flags, operands := shellcmd.SplitOptions(words("-a b -o c --d=e - -- -f"), "o")
	assert.Equal(t, []string{"-a", "-o", "--d=e"}, flags)
	assert.Equal(t, []shellcmd.Arg{shellcmd.KnownArg("b"), shellcmd.KnownArg("-"), shellcmd.KnownArg("-f")}, operands)
	assert.True(t, shellcmd.HasFlag(words("-xrf"), "rR", "--recursive"))
	assert.True(t, shellcmd.HasFlag(words("--recursive"), "r", "--recursive"))
	assert.True(t, shellcmd.HasFlag(words("--rec=x"), "", "--recursive"))
	assert.False(t, shellcmd.HasFlag(words("--recursively"), "r", "--recursive"))
	assert.False(t, shellcmd.HasFlag(words("-- -r"), "r", "--recursive"))
	assert.False(t, shellcmd.HasFlag(words("r"), "r", ""))
}

func TestAScriptMadeByHandIsNoDanger(t *testing.T) {
	assert.NotPanics(t, func() {
		s := shellcmd.ShellScript{Commands: []shellcmd.Command{{Words: []shellcmd.Word{{}}, Shell: 7, Block: 9}, {}}}
		c := shellcmd.TraceScript(s, "", "")
		c.Runs(0)
		c.Runs(1)
		s.Argv()
	})
}
