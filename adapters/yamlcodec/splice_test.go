package yamlcodec_test

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func item() any {
	return yamlcodec.Pairs{{Key: "id", Value: "x"}, {Key: "tags", Value: []string{"a", "no: b"}}, {Key: "src", Value: yamlcodec.Pairs{{Key: "path", Value: "m/x"}}}}
}

func TestAppendFollowsTheLayout(t *testing.T) {
	const block = "  - id: x\n    tags: [a, 'no: b']\n    src:\n      path: m/x\n"
	for name, c := range map[string]struct{ in, want string }{
		"items":          {"v: 1\nl:\n  - id: a # one\n# end\nz: 1\n", "v: 1\nl:\n  - id: a # one\n" + block + "# end\nz: 1\n"},
		"level with key": {"l:\n- id: a\n", "l:\n- id: a\n- id: x\n  tags: [a, 'no: b']\n  src:\n    path: m/x\n"},
		"blank between":  {"l:\n  - id: a\n\n  # b\n  - id: b\n", "l:\n  - id: a\n\n  # b\n  - id: b\n\n" + block},
		"no last break":  {"l:\n  - id: a", "l:\n  - id: a\n" + strings.TrimSuffix(block, "\n")},
		"comments in it": {"l:\n  - id: a\n    # b: c\n\n      # d\n  # next\nz: 1\n", "l:\n  - id: a\n    # b: c\n\n      # d\n" + block + "  # next\nz: 1\n"},
		"crlf":           {"l:\r\n  - id: a\r\nz: 1\r\n", "l:\r\n  - id: a\r\n" + strings.ReplaceAll(block, "\n", "\r\n") + "z: 1\r\n"},
		"empty":          {"l: [] # none\nz: 1\n", "l: # none\n" + block + "z: 1\n"},
		"null":           {"l:\nz: 1\n", "l:\n" + block + "z: 1\n"},
		"tilde":          {"\"l\" : ~\n", "\"l\" :\n" + block},
		"missing":        {"z: |\n  a\n\n# end\n", "z: |\n  a\nl:\n" + block + "\n# end\n"},
		"missing, end":   {"z: 1\n...\n", "z: 1\nl:\n" + block + "...\n"},
		"keep":           {"l:\n  - a: |+\n      x\n\n\nz: 1\n", "l:\n  - a: |+\n      x\n\n\n" + block + "z: 1\n"},
		"folded":         {"l:\n  - a: b\n      c # d\nz: 1\n", "l:\n  - a: b\n      c # d\n" + block + "z: 1\n"},
		"quoted lines":   {"l:\n  - a: \"b\n\n    # c\\\"\n    d\"\n# e\n", "l:\n  - a: \"b\n\n    # c\\\"\n    d\"\n" + block + "# e\n"},
		"flow":           {"l: [{id: a}] # c\n", "l: [{id: a}, {id: x, tags: [a, 'no: b'], src: {path: m/x}}] # c\n"},
		"flow lines":     {"l: [\n  {id: a},\n  {id: b},\n]\n", "l: [\n  {id: a},\n  {id: b},\n  {id: x, tags: [a, 'no: b'], src: {path: m/x}},\n]\n"},
		"json":           {`{"v": 1, "l": []}`, `{"v": 1, "l": [{"id": "x", "tags": ["a", "no: b"], "src": {"path": "m/x"}}]}`},
		"json, missing":  {`{"v": 1}`, `{"v": 1, "l": [{"id": "x", "tags": ["a", "no: b"], "src": {"path": "m/x"}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := yamlcodec.Append([]byte(c.in), []string{"l"}, item())
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
			root, err := yamlcodec.Parse(got, yamlcodec.Options{})
			require.NoError(t, err)
			for _, f := range root.Fields() {
				if f.Key.Text() == "l" {
					back, err := yamlcodec.Remove(got, []string{"l"}, len(f.Value.Items())-1)
					require.NoError(t, err)
					if len(f.Value.Items()) > 1 || name == "empty" || name == "json" {
						assert.Equal(t, c.in, string(back))
					}
				}
			}
		})
	}
}

func TestAppendMakesTheWay(t *testing.T) {
	for in, want := range map[string]string{
		"v: 1\n":                              "v: 1\np:\n  d:\n    tags: [t]\n",
		"p: {}\n":                             "p:\n  d:\n    tags: [t]\n",
		"p:\n    e:\n        tags: [a]\nv: 1": "p:\n    e:\n        tags: [a]\n    d:\n      tags: [t]\nv: 1",
		"p:\n  d:\n    other: [a]\n":          "p:\n  d:\n    other: [a]\n    tags: [t]\n",
		"p:\n  d: # c\n  e: {}\n":             "p:\n  d: # c\n    tags: [t]\n  e: {}\n",
		"p:\n  d:\n    tags: [] # c\n":        "p:\n  d:\n    tags: [t] # c\n",
		"p:\n  d:\n    tags: [a, b]\n":        "p:\n  d:\n    tags: [a, b, t]\n",
		"p:\n  d:\n    tags:\n    - a\n":      "p:\n  d:\n    tags:\n    - a\n    - t\n",
		"p: {d: {tags: []}}\n":                "p: {d: {tags: [t]}}\n",
		"p: {d: {}}\n":                        "p: {d: {tags: [t]}}\n",
		"p: {d: , e: 1}\n":                    "p: {d: {tags: [t]} , e: 1}\n",
		"p: {e: {tags: [a]}}\n":               "p: {e: {tags: [a]}, d: {tags: [t]}}\n",
	} {
		got, err := yamlcodec.Append([]byte(in), []string{"p", "d", "tags"}, "t")
		require.NoError(t, err, in)
		assert.Equal(t, want, string(got))
	}
}

func TestRemoveTakesTheCommentAbove(t *testing.T) {
	for name, c := range map[string]struct {
		in    string
		index int
		want  string
	}{
		"first":       {"l:\n  # a\n  - 1\n\n  # b\n  - 2\n", 0, "l:\n  # b\n  - 2\n"},
		"middle":      {"l:\n  - 1\n    # of 1\n  # b\n  - 2\n  - 3\n", 1, "l:\n  - 1\n    # of 1\n  - 3\n"},
		"last":        {"l:\n  - 1\n\n  # tail of 1\n\n  # b\n  - 2 # c\n\nz: 1\n", 1, "l:\n  - 1\n\n  # tail of 1\n\nz: 1\n"},
		"only":        {"l: # x\n  - a: 1\n    b: 2\nz: 1\n", 0, "l: [] # x\nz: 1\n"},
		"dash alone":  {"l:\n  -\n    a: 1\n  -\n    a: 2\n", 1, "l:\n  -\n    a: 1\n"},
		"flow first":  {"l: [a, b, c]", 0, "l: [b, c]"},
		"flow middle": {"l: [a, b, c]", 1, "l: [a, c]"},
		"flow last":   {"l: [a, b, ]", 1, "l: [a, ]"},
		"flow only":   {"l: [ a, ]", 0, "l: [  ]"},
		"commented":   {"l: [\n  a, # of a\n  b, # of b\n]", 1, "l: [\n  a, # of a\n   # of b\n]"},
	} {
		got, err := yamlcodec.Remove([]byte(c.in), []string{"l"}, c.index)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, string(got), name)
	}
}

func TestSpliceRefusesWhatItCannotPlace(t *testing.T) {
	for _, in := range []string{"l: *x\n", "a: &x [1]\nl: *x\n", "l: &x\n  - 1\n", "l: 1\n", "- l\n", "l: [", ""} {
		_, err := yamlcodec.Append([]byte(in), []string{"l"}, "t")
		assert.Error(t, err, in)
	}
	for _, in := range []string{"l: []\n", "z: 1\n", "l:\n", "a: &x [1]\nl: *x\n"} {
		_, err := yamlcodec.Remove([]byte(in), []string{"l"}, 0)
		assert.ErrorIs(t, err, yamlcodec.ErrLayout, in)
	}
}

// TestAddLeavesCommentsWhereTheyAre: what is commented out in one member stays in it when another comes after it.
func TestAddLeavesCommentsWhereTheyAre(t *testing.T) {
	const in = "t:\n  a:\n    o:\n      x: 1\n      # y: 2\n    # z\n\n# end\nm: []\n"
	out, err := yamlcodec.Add([]byte(in), []string{"t", "b"}, yamlcodec.Pairs{{Key: "x", Value: 1}})
	require.NoError(t, err)
	assert.Equal(t, "t:\n  a:\n    o:\n      x: 1\n      # y: 2\n    # z\n  b:\n    x: 1\n\n# end\nm: []\n", string(out))
	out, err = yamlcodec.Add([]byte(in), []string{"t", "a", "o", "y"}, 3)
	require.NoError(t, err)
	assert.Equal(t, "t:\n  a:\n    o:\n      x: 1\n      y: 3\n      # y: 2\n    # z\n\n# end\nm: []\n", string(out))
}
