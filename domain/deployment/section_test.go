package deployment_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
)

// The test vector of the agentpack contract §2.8.
func TestJoinIsTheVector(t *testing.T) {
	text := deployment.JoinSections([]deployment.Section{{ID: "instructions:one", Text: "# one\n"}, {ID: "instructions:two", Text: "# two\n"}})
	assert.Equal(t, "<!-- agentpack:module=instructions:one -->\n# one\n<!-- /agentpack -->\n\n---\n\n<!-- agentpack:module=instructions:two -->\n# two\n<!-- /agentpack -->", text)
	assert.Equal(t, "ee9e6ab7765b65b2e0fd45553b68ffdfa6529057ccc793527d607747444f556d", fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
}

func TestJoinOfNoneAndOneHasNoMarks(t *testing.T) {
	assert.Empty(t, deployment.JoinSections(nil))
	assert.Equal(t, "no line feed", deployment.JoinSections([]deployment.Section{{ID: "a", Text: "no line feed"}}))
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []deployment.Section
	}{
		"none":                {"just text\n", nil},
		"nothing":             {"", nil},
		"one":                 {"before\n<!-- agentpack:module=a -->\nx\n<!-- /agentpack -->\nafter\n", []deployment.Section{{"a", "x\n"}}},
		"empty":               {"<!-- agentpack:module=a -->\n<!-- /agentpack -->", []deployment.Section{{"a", ""}}},
		"blanks around marks": {"  <!-- agentpack:module= a b -->\t\n x \n\t<!-- /agentpack -->  \n", []deployment.Section{{"a b", " x \n"}}},
		"no blank in mark":    {"<!-- agentpack:module=a-->\nx\n<!-- /agentpack -->\n", []deployment.Section{{"a", "x\n"}}},
		"other line ends":     {"<!-- agentpack:module=a -->\r\nx\r\n\r\n<!-- /agentpack -->\r\n", []deployment.Section{{"a", "x\r\n\r\n"}}},
		"no marks":            {"<!-- agentpack:module= -->\n<!-- agentpack:module=x\n<!-- /agentpack -->\n", nil},
		"marks within lines":  {"see <!-- agentpack:module=a -->\n<!-- /agentpack --> there\n", nil},
		"order":               {"<!-- agentpack:module=b -->\n<!-- /agentpack -->\n<!-- agentpack:module=a -->\n<!-- /agentpack -->\n", []deployment.Section{{"b", ""}, {"a", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := deployment.ParseSections(c.text)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, message string }{
		"nested":             {"<!-- agentpack:module=a -->\n\n<!-- agentpack:module=b -->\n<!-- /agentpack -->\n", `line 3 begins section "b" inside section "a", which began at line 1`},
		"nested in itself":   {"<!-- agentpack:module=a -->\n<!-- agentpack:module=a -->\n<!-- /agentpack -->\n", `line 2 begins section "a" inside section "a", which began at line 1`},
		"twice":              {"<!-- agentpack:module=a -->\n<!-- /agentpack -->\n<!-- agentpack:module=a -->\n<!-- /agentpack -->\n", `line 3 begins section "a", which already begins at line 1`},
		"no end":             {"x\n<!-- agentpack:module=a -->\ny\n", `section "a", which begins at line 2, has no end`},
		"text behind end":    {"<!-- agentpack:module=a -->\ny\n<!-- /agentpack -->more\n", `line 3 has other text after <!-- /agentpack -->, which ends section "a"`},
		"text behind an end": {"<!-- agentpack:module=a -->\ny\n<!-- /agentpack -->more\n<!-- agentpack:module=b -->\n<!-- /agentpack -->", "line 3 has other text after"},
		"not UTF-8":          {"\xff", "not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := deployment.ParseSections(c.text)
			require.ErrorIs(t, err, deployment.ErrFormat)
			assert.ErrorContains(t, err, c.message)
			assert.Equal(t, fault.Invalid, fault.From(err).Kind)
		})
	}
}

func TestMarked(t *testing.T) {
	assert.True(t, deployment.HasSectionMarks("a\n <!-- /agentpack -->\r\n"))
	assert.True(t, deployment.HasSectionMarks("a\n<!-- agentpack:module=x -->"))
	assert.False(t, deployment.HasSectionMarks("a <!-- /agentpack -->\n<!-- agentpack:module= -->\n<!-- agentpack:begin -->\n"))
}

// piece returns lines of which many have a meaning for this package.
func piece() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		line := rapid.SampledFrom([]string{"", "text", "```", "~~~", "````", "```go", "- ```", "> ~~~", "  ```", "---", " ", "\r", "<!-- x -->", "<!-- agentpack:begin", " <!-- agentpack:end -->"})
		end := rapid.SampledFrom([]string{"\n", "\n", "\r\n"})
		var b strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			b.WriteString(line.Draw(t, "line") + end.Draw(t, "end"))
		}
		b.WriteString(rapid.SampledFrom([]string{"", "", "cut off", "cut\r"}).Draw(t, "last"))
		return b.String()
	})
}

func TestParseUndoesJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sections, want []deployment.Section
		for i := range rapid.IntRange(2, 5).Draw(t, "sections") {
			s := deployment.Section{ID: fmt.Sprintf("instructions:%d", i), Text: piece().Draw(t, "text")}
			sections = append(sections, s)
			if !strings.HasSuffix(s.Text, "\n") {
				s.Text += "\n"
			}
			want = append(want, s)
		}
		got, err := deployment.ParseSections(deployment.JoinSections(sections))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	})
}

// FuzzParse: any text is either rejected or parsed; parsed sections are restored after joining, and have no marks that would not be parsed.
func FuzzParse(f *testing.F) {
	f.Add("<!-- agentpack:module=a -->\nx\n<!-- /agentpack -->\n\n---\n\n<!-- agentpack:module=b -->\r\ny\r\n<!-- /agentpack -->")
	f.Add("<!-- agentpack:module=a -->\n<!-- agentpack:module=b -->\n<!-- /agentpack -->")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, text string) {
		sections, err := deployment.ParseSections(text)
		if err != nil {
			require.ErrorIs(t, err, deployment.ErrFormat)
			return
		}
		require.True(t, utf8.ValidString(text))
		if !deployment.HasSectionMarks(text) {
			require.Empty(t, sections)
		}
		for i, s := range sections {
			if s.Text == "" {
				sections[i].Text = "\n" // JoinSections gives every text a line
			}
		}
		if len(sections) > 1 {
			again, err := deployment.ParseSections(deployment.JoinSections(sections))
			require.NoError(t, err)
			require.Equal(t, sections, again)
		}
	})
}
