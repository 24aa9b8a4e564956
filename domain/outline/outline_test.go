package outline_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/outline"
)

func TestDefinitionsInEveryLanguage(t *testing.T) {
	cases := map[string]struct {
		file, text string
		want       []outline.Definition
	}{
		"go": {"a.go", "package a\n\n// Call does one thing. And more.\n//\n// Even more.\nfunc (a *A) Call(\n\tx int,\n) error {\n\tif x > 0 { return nil }\n\treturn nil\n}\n\ntype ID string\n",
			[]outline.Definition{{Name: "Call", First: 3, Line: 6, Last: 11, Doc: "Call does one thing."}, {Name: "ID", First: 13, Line: 13, Last: 13}}},
		"rust": {"lib.rs", "/// Holds every token.\n#[derive(Debug)]\npub struct Store<'a> {\n    inner: &'a str,\n}\n\nimpl Store {\n    pub async fn open(c: char) -> bool {\n        c == '{'\n    }\n}\n",
			[]outline.Definition{{Name: "Store", First: 1, Line: 3, Last: 5, Doc: "Holds every token."}, {Name: "open", First: 8, Line: 8, Last: 10}}},
		"python": {"a.py", "class Cart:\n    \"\"\"What somebody is about to buy.\"\"\"\n\n    def add(\n        self,\n        n,\n    ):\n        # {\n        return n\n\n\nX = 1\n",
			[]outline.Definition{{Name: "Cart", First: 1, Line: 1, Last: 9, Doc: "What somebody is about to buy."}, {Name: "add", First: 4, Line: 4, Last: 9}}},
		"typescript": {"a.ts", "export const sum = (a: number): number => {\n  return a;\n};\nexport interface Bag {\n  n: string;\n}\n",
			[]outline.Definition{{Name: "sum", First: 1, Line: 1, Last: 3}, {Name: "Bag", First: 4, Line: 4, Last: 6}}},
		"c": {"a.c", "#include <stdio.h>\n/* Adds two numbers together. */\nint add(int a, int b)\n{\n\treturn a + b; /* } */\n}\nint later(void);\n",
			[]outline.Definition{{Name: "add", First: 2, Line: 3, Last: 6, Doc: "Adds two numbers together."}}},
		"ruby":  {"a.rb", "class Cart\n  def total\n    1\n  end\nend\n", []outline.Definition{{Name: "Cart", First: 1, Line: 1, Last: 5}, {Name: "total", First: 2, Line: 2, Last: 4}}},
		"shell": {"a.sh", "#!/bin/sh\n# Builds the whole thing.\nbuild() {\n  echo \"}\" # }\n}\n", []outline.Definition{{Name: "build", First: 2, Line: 3, Last: 5, Doc: "Builds the whole thing."}}},
		"sql":   {"a.sql", "CREATE TABLE IF NOT EXISTS orders (\n  id int\n);\n", []outline.Definition{{Name: "orders", First: 1, Line: 1, Last: 3}}},
		"java":  {"A.java", "public final class Cart {\n    public int total(int n) {\n        return n;\n    }\n}\n", []outline.Definition{{Name: "Cart", First: 1, Line: 1, Last: 5}, {Name: "total", First: 2, Line: 2, Last: 4}}},
		"none":  {"a.txt", "func main() {}\n", nil},
		"open":  {"a.go", "func broken() {\n\tx := \"", []outline.Definition{{Name: "broken", First: 1, Line: 1, Last: 2}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, outline.Find(c.file, c.text))
		})
	}
}

// TestOwnSource finds what is really there.
func TestOwnSource(t *testing.T) {
	text, err := os.ReadFile("outline.go")
	require.NoError(t, err)
	found := outline.Find("outline.go", string(text))
	names := map[string]outline.Definition{}
	for _, d := range found {
		names[d.Name] = d
	}
	assert.Equal(t, "Definitions lists what text defines, in order.", names["Definitions"].Doc)
	assert.Greater(t, names["Definitions"].Lines(), 15)
	assert.Contains(t, names, "Scanner")
}

func FuzzDefinitions(f *testing.F) {
	f.Add("a.go", "func a() {\n}\n")
	f.Add("a.py", "def a(\n")
	f.Add("a.rb", "def a\n")
	f.Add("a.c", "int a('")
	f.Fuzz(func(t *testing.T, file, text string) {
		lines := 1
		for _, c := range text {
			if c == '\n' {
				lines++
			}
		}
		for _, d := range outline.Find(file, text) {
			if d.First < 1 || d.First > d.Line || d.Line > d.Last || d.Last > lines {
				t.Fatalf("%+v in a text of %d lines", d, lines)
			}
		}
	})
}
