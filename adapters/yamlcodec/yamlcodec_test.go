package yamlcodec_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type sample struct {
	Text  *string              `yaml:"text"`
	Count *uint64              `yaml:"count"`
	Flag  bool                 `yaml:"flag"`
	Tags  []string             `yaml:"tags"`
	At    *yamlcodec.Timestamp `yaml:"at"`
	Sub   struct{ A, B int }   `yaml:"sub"`
	Rows  []struct{ N int }    `yaml:"rows"`
	More  map[string]any       `yaml:"more"`
}

func TestDecodeReportsEveryProblemAtItsPlace(t *testing.T) {
	big := "text: " + strings.Repeat("x", yamlcodec.DefaultMaxBytes)
	for name, c := range map[string]struct {
		in      string
		options yamlcodec.Options
		want    []yamlcodec.Problem
	}{
		"type mismatch":      {in: "flag: true\ncount: many\n", want: []yamlcodec.Problem{{2, 8, `"many" where a whole number, not negative, is expected`}}},
		"quoted number":      {in: "count: '4'", want: []yamlcodec.Problem{{1, 8, `"4" where a whole number, not negative, is expected`}}},
		"negative":           {in: "count: -1", want: []yamlcodec.Problem{{1, 8, `"-1" where a whole number, not negative, is expected`}}},
		"fraction":           {in: "count: 1.5", want: []yamlcodec.Problem{{1, 8, `"1.5" where a whole number, not negative, is expected`}}},
		"all at once":        {in: "text: [a]\ntags: b\nflag: 3\n", want: []yamlcodec.Problem{{1, 7, "a list where text is expected"}, {2, 7, `"b" where a list is expected`}, {3, 7, `"3" where true or false is expected`}}},
		"repeated key":       {in: "flag: true\nflag: true", want: []yamlcodec.Problem{{2, 1, `the key "flag" is given twice`}}},
		"repeated below":     {in: "ignored:\n  - a: 1\n    a: 2", want: []yamlcodec.Problem{{3, 5, `the key "a" is given twice`}}},
		"scalar document":    {in: "word", want: []yamlcodec.Problem{{1, 1, `"word" where a mapping is expected`}}},
		"list document":      {in: "- a", want: []yamlcodec.Problem{{1, 1, "a list where a mapping is expected"}}},
		"empty":              {in: "", want: []yamlcodec.Problem{{1, 1, "the document is empty"}}},
		"only a comment":     {in: "# nothing\n", want: []yamlcodec.Problem{{1, 1, "the document is empty"}}},
		"two documents":      {in: "flag: true\n---\nflag: true\n", want: []yamlcodec.Problem{{1, 1, "more than one document"}}},
		"explicit tag":       {in: "text: !!binary aGk=", want: []yamlcodec.Problem{{1, 7, "the tag !!binary is not supported; write the plain value"}}},
		"syntax":             {in: "flag: true\ntext: \"open\n", want: []yamlcodec.Problem{{3, 1, "while scanning a quoted scalar from line 2, column 7: found unexpected end of stream"}}},
		"bad utf-8":          {in: "flag: true\ntext: a\xffb", want: []yamlcodec.Problem{{2, 8, "byte 0xff is not valid UTF-8"}}},
		"control character":  {in: "text: é\x01", want: []yamlcodec.Problem{{1, 8, "character U+0001 is not allowed; write it as an escape in double quotes"}}},
		"time without zone":  {in: "at: 2026-03-01T09:00:00", want: []yamlcodec.Problem{{1, 5, `"2026-03-01T09:00:00" is not an RFC 3339 time with an offset`}}},
		"time as list":       {in: "at: [1]", want: []yamlcodec.Problem{{1, 5, `"" is not an RFC 3339 time with an offset`}}},
		"line offset":        {in: "flag: true\ncount: many\n", options: yamlcodec.Options{FirstLine: 11}, want: []yamlcodec.Problem{{12, 8, `"many" where a whole number, not negative, is expected`}}},
		"too large":          {in: "text: abcdefgh", options: yamlcodec.Options{MaxBytes: 10}, want: []yamlcodec.Problem{{1, 1, "the document has 14 bytes; 10 are allowed"}}},
		"too large for all":  {in: big, want: []yamlcodec.Problem{{1, 1, "the document has 16777222 bytes; 16777216 are allowed"}}},
		"key that is a list": {in: "? [a]\n: 1", want: []yamlcodec.Problem{{1, 3, "a key must be a single word or text"}}},
	} {
		t.Run(name, func(t *testing.T) {
			err := yamlcodec.Decode([]byte(c.in), &sample{}, c.options)
			require.ErrorIs(t, err, yamlcodec.ErrInvalid)
			var f *fault.Error
			require.True(t, errors.As(err, &f))
			assert.Equal(t, yamlcodec.Problems{Problems: c.want}, f.Details)
			assert.Contains(t, err.Error(), c.want[0].String())
		})
	}
}

func TestDecodeKnownFields(t *testing.T) {
	in := []byte("flag: true\nfalg: true\n")
	require.NoError(t, yamlcodec.Decode(in, &sample{}, yamlcodec.Options{}))
	err := yamlcodec.Decode(in, &sample{}, yamlcodec.Options{KnownFields: true})
	require.ErrorIs(t, err, yamlcodec.ErrInvalid)
	assert.Contains(t, err.Error(), `line 2, column 1: unknown key "falg"; did you mean flag?`)
	for in, want := range map[string]string{
		"sub:\n  nonesuch: 1\n":      `line 2, column 3: unknown key "nonesuch"; known here: a, b`,
		"sub:\n  a: many\n":          `line 2, column 6: sub.a: "many" where a whole number is expected`,
		"tags: b\nrows:\n- n: [1]\n": `line 1, column 7: tags: "b" where a list is expected; line 3, column 6: rows.n: a list where a whole number is expected`,
		"word\n":                     `line 1, column 1: "word" where a mapping is expected`,
	} {
		err := yamlcodec.Decode([]byte(in), &sample{}, yamlcodec.Options{KnownFields: true})
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "yamlcodec_test", "no type of the program")
	}
	assert.Equal(t, 3, yamlcodec.Line([]byte("flag: true\nsub:\n  a: 1\n"), "sub.a"))
	assert.Zero(t, yamlcodec.Line([]byte("flag: true\n"), "sub.a"))
	assert.Zero(t, yamlcodec.Line([]byte("flag: ["), "flag"))
}

func TestDecodeIsBounded(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c <= 'k'; c++ {
		p := string(c - 1)
		bomb.WriteString(string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+p+",", 9), ",") + "]\n")
	}
	for name, in := range map[string]string{
		"nested flow":  "more: " + strings.Repeat("[", 100_000),
		"nested block": strings.Repeat("- ", yamlcodec.MaxDepth+2) + "x",
		"alias bomb":   "more: {" + strings.ReplaceAll(strings.TrimSuffix(bomb.String(), "\n"), "\n", ", ") + "}",
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, yamlcodec.Decode([]byte(in), &sample{}, yamlcodec.Options{}), yamlcodec.ErrInvalid)
		})
	}
}

func TestDecodeReportsAtMostTwentyProblems(t *testing.T) {
	err := yamlcodec.Decode([]byte("rows:\n"+strings.Repeat("- n: x\n", 30)), &sample{}, yamlcodec.Options{})
	require.ErrorIs(t, err, yamlcodec.ErrInvalid)
	assert.Contains(t, err.Error(), "and 10 more")
	assert.Equal(t, 20, strings.Count(err.Error(), "line "))
}

func TestTextIsNeverReinterpreted(t *testing.T) {
	for in, want := range map[string]string{
		"text: yes": "yes", "text: 012": "012", "text: 1_000": "1_000", "text: 2026-03-01": "2026-03-01", "text: 'null'": "null",
		"text: on": "on", "text: 1.0": "1.0", "text: 0o17": "0o17", "text: true": "true", "text: |\n  a\n   ---\n  b\n": "a\n ---\nb\n",
	} {
		var s sample
		require.NoError(t, yamlcodec.Decode([]byte(in), &s, yamlcodec.Options{}), in)
		require.NotNil(t, s.Text, in)
		assert.Equal(t, want, *s.Text, in)
	}
	for _, in := range []string{"text: null", "text: ~", "text:", "flag: false"} {
		var s sample
		require.NoError(t, yamlcodec.Decode([]byte(in), &s, yamlcodec.Options{}), in)
		assert.Nil(t, s.Text, in)
	}
}

func TestTimestampForms(t *testing.T) {
	for in, want := range map[string]string{
		"2026-03-01T09:00:00Z":             "2026-03-01T09:00:00Z",
		"'2026-03-01T09:00:00.5Z'":         "2026-03-01T09:00:00.500Z",
		"2026-03-01 09:00:00.123456Z":      "2026-03-01T09:00:00.123456Z",
		"2026-03-01T09:00:00.1234567Z":     "2026-03-01T09:00:00.123456700Z",
		"\"2026-03-01t09:00:00+02:00\"":    "2026-03-01T07:00:00Z",
		"2026-03-01 09:00:00 -01:30":       "2026-03-01T10:30:00Z",
		"2026-03-01T09:00:00.000000001Z":   "2026-03-01T09:00:00.000000001Z",
		"2026-03-01T23:59:59.999999-00:01": "2026-03-02T00:00:59.999999Z",
	} {
		var s sample
		require.NoError(t, yamlcodec.Decode([]byte("at: "+in), &s, yamlcodec.Options{}), in)
		assert.Equal(t, want, s.At.String(), in)
		assert.Equal(t, time.UTC, s.At.Location(), in)
	}
}

func TestEncodeLayout(t *testing.T) {
	type part struct {
		Key  string  `yaml:"key"`
		Note *string `yaml:"note"`
		More string  `yaml:"more,omitempty"`
	}
	got, err := yamlcodec.Encode(struct {
		Name  string              `yaml:"name"`
		Tags  []string            `yaml:"tags"`
		None  []string            `yaml:"none"`
		Parts []part              `yaml:"parts"`
		At    yamlcodec.Timestamp `yaml:"at"`
		N     uint64              `yaml:"n"`
	}{
		Name: "yes", Tags: []string{"auth", "123"}, None: []string{}, Parts: []part{{Key: "a"}, {Key: "b", More: "x\n  y"}},
		At: yamlcodec.Timestamp{Time: time.Date(2026, 3, 1, 10, 0, 0, 500_000_000, time.FixedZone("", 3600))}, N: 7,
	})
	require.NoError(t, err)
	assert.Equal(t, `name: yes
tags:
- auth
- '123'
none: []
parts:
- key: a
  note: null
- key: b
  note: null
  more: |-
    x
      y
at: 2026-03-01T09:00:00.500Z
n: 7
`, string(got))
}

func TestStringStyles(t *testing.T) {
	for s, want := range map[string]string{
		"plain words": "plain words", "yes": "yes", "off": "off", "y": "y", "2026-03-01": "2026-03-01", "1_000": "1_000", "12:30": "12:30",
		"1.2.3": "1.2.3", "héllo ☃": "héllo ☃", "a#b": "a#b", "-x": "-x", "pk_abcdef22": "pk_abcdef22", "0xzz": "0xzz", "inf": "inf", "--5": "--5",
		"123": "'123'", "-5": "'-5'", "+1": "'+1'", "1.5": "'1.5'", "1e3": "'1e3'", "0x1F": "'0x1F'", "0o17": "'0o17'", "017": "'017'", "089": "'089'",
		".inf": "'.inf'", "-.inf": "'-.inf'", ".nan": "'.nan'", "null": "'null'", "~": "'~'", "true": "'true'", "False": "'False'", "": "''", "<<": "'<<'",
		"1e999": "'1e999'", "99999999999999999999": "'99999999999999999999'",
		"# x": "'# x'", "a: b": "'a: b'", "a #b": "'a #b'", "- x": "'- x'", "[a]": "'[a]'", "it's": "it's", "'q'": "'''q'''", "---": "'---'", "...": "'...'", "@x": "'@x'", " x": "' x'", "x ": "'x '",
		"a\tb": `"a\tb"`, "a\rb": `"a\rb"`, "a\x00b": `"a\0b"`, "\u2028": `"\L"`, "\u0085": `"\N"`, "\ufeffx": `"\uFEFF\x78"`, "\x7f": `"\x7F"`,
		"a\nb": "|-\n  a\n  b", "a\n\nb": "|-\n  a\n\n  b", "a\n  b": "|-\n  a\n    b", "a\n# b": "|-\n  a\n  # b", "a: 1\n'b'": "|-\n  a: 1\n  'b'",
		"a\n---\nb": `"a\n---\nb"`, "a\n  ---\nb": `"a\n  ---\nb"`, "a\n...": `"a\n..."`, "a \nb": `"a \nb"`, " a\nb": `" a\nb"`, "a\n": `"a\n"`, "\na": `"\na"`,
		"a\n\tb": `"a\n\tb"`, "a\n \nb": `"a\n \nb"`, "\n": `"\n"`, "a\r\nb": `"a\r\nb"`,
	} {
		got, err := yamlcodec.Encode(map[string]string{"k": s})
		require.NoError(t, err, "%q", s)
		assert.Equal(t, "k: "+want+"\n", string(got), "%q", s)
		var back map[string]string
		require.NoError(t, yamlcodec.Decode(got, &back, yamlcodec.Options{}), "%q", s)
		assert.Equal(t, s, back["k"], "%q", s)
	}
}

func TestEncodeRefusesWhatIsNotText(t *testing.T) {
	_, err := yamlcodec.Encode(map[string]string{"k": "a\xff"})
	require.ErrorIs(t, err, yamlcodec.ErrEncode)
	_, err = yamlcodec.Encode(map[string]any{"k": yamlcodec.Timestamp{Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}})
	require.ErrorIs(t, err, yamlcodec.ErrEncode)
	assert.Contains(t, err.Error(), "year 10000")
}

func TestLongLinesAreNotFolded(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("many words ", 100))
	got, err := yamlcodec.Encode(map[string]string{"k": long, "q": long + ": x"})
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(got), "\n"))
}

// FuzzText: any text survives encoding and decoding, below a list in a mapping and beside other keys, and no line of the document trims to a
// delimiter.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "a\nb", "a\n ---\nb", " a", "\t", "\u0085a\n", "- x", "a:\n\n b \n", "'", "\"\\", "|-", "\U0001F600\nx", "\u2029", "a\n\u00a0---\n", "\n\n", "null", "0x", "1e5"} {
		f.Add(s)
	}
	type row struct {
		Text string  `yaml:"text"`
		Next *string `yaml:"next"`
	}
	type document struct {
		Rows []row    `yaml:"rows"`
		Tags []string `yaml:"tags"`
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := document{Rows: []row{{Text: s, Next: &s}, {Text: s}}, Tags: []string{s, s}}
		data, err := yamlcodec.Encode(in)
		if strings.ToValidUTF8(s, "") != s {
			require.ErrorIs(t, err, yamlcodec.ErrEncode)
			return
		}
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			require.NotEqual(t, "---", strings.TrimSpace(line))
		}
		var back document
		require.NoError(t, yamlcodec.Decode(data, &back, yamlcodec.Options{}), "%s", data)
		require.Equal(t, in, back, "%s", data)
	})
}

// FuzzDecode: no input panics, and what decodes can be encoded and decoded to the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("text: a\ntags: [b, 'c']\nat: 2026-03-01T09:00:00Z\nmore: {x: 1}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? - a\n: b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s struct {
			Text *string              `yaml:"text"`
			N    uint64               `yaml:"n"`
			Tags []string             `yaml:"tags"`
			At   *yamlcodec.Timestamp `yaml:"at"`
		}
		if yamlcodec.Decode(data, &s, yamlcodec.Options{MaxBytes: 1 << 16}) != nil {
			return
		}
		out, err := yamlcodec.Encode(s)
		require.NoError(t, err)
		back := s
		require.NoError(t, yamlcodec.Decode(out, &back, yamlcodec.Options{}))
		if s.Tags == nil {
			s.Tags = []string{}
		}
		require.Equal(t, s, back)
	})
}
