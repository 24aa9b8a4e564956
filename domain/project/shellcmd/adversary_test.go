package shellcmd_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/adapters/projectfile"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

// hostile returns texts of the size a command may have that are made to take long.
func hostile() map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, project.MaxCommand/len(unit)) }
	nest := func(left, right string) string {
		n := project.MaxCommand / (len(left) + len(right))
		n -= 8 // room for what stands before it
		return strings.Repeat(left, n) + strings.Repeat(right, n)
	}
	return map[string]string{
		"shells in a pipe":       "echo a" + strings.Repeat("|sh", 2700),
		"echoes and shells":      fill("echo a|sh|"),
		"shells beside":          fill("sh;"),
		"braces in braces":       nest("{a,", "}"),
		"braces beside":          "echo " + strings.Repeat("{a,b}", 1600),
		"braces in substitution": nest("echo {a,b}$(", ")"),
		"words with braces":      fill("{a,b} "),
		"ranges":                 fill("{1..9999999} "),
		"substitutions":          nest("$(echo ", ")"),
		"quoted substitutions":   nest(`"$(echo `, `)"`),
		"backquotes":             fill("`a`"),
		"subshells":              nest("(", ")"),
		"blocks":                 nest("{ ", ";}"),
		"arithmetic":             "echo " + nest("$((", "))"),
		"defaults":               "echo " + nest("${a:-", "}"),
		"doubling":               fill("X=$X$X;"),
		"growing":                "X=aaaaaaaa;" + strings.Repeat("X=$X$X$X;", 800) + "rm $X",
		"variables in a word":    "rm " + strings.Repeat("$a", 4000),
		"many values":            strings.Repeat("a && X=b$X;", 600) + "rm -rf $X$X$X$X$X$X$X$X",
		"loops":                  fill("for a in $a b c;do rm $a;done;"),
		"env":                    fill("env "),
		"unknown programs":       fill("$a "),
		"eval":                   fill("eval "),
		"sh in sh":               strings.Repeat("sh -c '", 1) + fill("sh -c x;")[:8000] + "'",
		"find":                   "find" + strings.Repeat(" -exec {} ;", 700),
		"find with words":        "find " + fill("a ")[:4000] + strings.Repeat("-exec {} {} {} + ", 200),
		"functions":              fill("f(){ f;};"),
		"a chain of functions":   chain(),
		"subshells that set":     fill("(X=a);")[:8000] + "rm $X",
		"parameters":             "f(){ rm" + strings.Repeat(" $1", 1300) + ";};" + strings.Repeat("f a;", 1000),
		"moves":                  fill("cd a;"),
		"moves that may be":      fill("a&&cd b||c;"),
		"documents":              fill("sh<<<a;"),
		"downloads":              fill("curl -o a b;sh a;"),
		"python":                 "python -c \"" + strings.Repeat("system('sh -c x')", 400) + "\"",
		"unclosed":               strings.Repeat("$(", 4000),
		"quotes":                 fill("'"),
		"patterns":               "rm -rf " + fill("*/")[:8000],
		"dots":                   "rm -rf " + fill("../")[:8000],
		"conditions":             nest("if a;then ", " ;fi"),
		"and":                    strings.Repeat("a&&", 2700) + "a",
		"pipes":                  strings.Repeat("a|", 4000) + "a",
		"documents in pipes":     strings.Repeat("sh<<<a|", 1100) + "sh",
	}
}

func chain() string {
	var b strings.Builder
	for i := range 300 {
		b.WriteString("f" + strings.Repeat("x", i%10) + "(){ g" + strings.Repeat("y", i%7) + "|h;};")
	}
	return b.String()
}

// TestNoTextMakesMuchWork: what goes wrong here makes a hundred times as much as these texts do, and takes minutes. A loop that takes nothing from the
// heap is not seen.
func TestNoTextMakesMuchWork(t *testing.T) {
	texts := hostile()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name][:min(len(texts[name]), project.MaxCommand)]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := shellcmd.CheckScript(projectfile.Parser{}.Parse(text), context())
		runtime.ReadMemStats(&after)
		made, bytes := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
		t.Logf("%-24s %4d a byte, %3d MB: %s", name, made/project.MaxCommand, bytes>>20, r.Verdict)
		assert.Less(t, made, uint64(500*project.MaxCommand), name)
		assert.Less(t, bytes, uint64(2<<30), name)
	}
}
