package visible_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/visible"
)

// TestWhatIsHidden: what is shown in its place, and what is said of it.
func TestWhatIsHidden(t *testing.T) {
	for in, want := range map[string]struct {
		shown  string
		hidden []string
	}{
		"rm\u202e txt.exe":                {"rm␣U+202E txt.exe", []string{"U+202E"}},
		"a\u200bb\u200fc\u200b":           {"a␣U+200Bb␣U+200Fc␣U+200B", []string{"U+200B", "U+200F"}},
		"\u2066x\u2069":                   {"␣U+2066x␣U+2069", []string{"U+2066", "U+2069"}},
		"x\ufeffy\ufffb":                  {"x␣U+FEFFy␣U+FFFB", []string{"U+FEFF", "U+FFFB"}},
		"\ufeff\ufeffx":                   {"␣U+FEFF␣U+FEFFx", []string{"U+FEFF"}},
		"x\U000e0041":                     {"x␣U+E0041", []string{"U+E0041"}},
		"x\u2060\u2064\u00ad\u061c":       {"x␣U+2060␣U+2064␣U+00AD␣U+061C", []string{"U+2060", "U+2064", "U+00AD", "U+061C"}},
		"a\u2028b\u2800c\u3164\u115f":     {"a␣U+2028b␣U+2800c␣U+3164␣U+115F", []string{"U+2028", "U+2800", "U+3164", "U+115F"}},
		"\x1b[31mred\x7f\u009b":           {"␣U+001B[31mred␣U+007F␣U+009B", []string{"U+001B", "U+007F", "U+009B"}},
		"all good\rrm -rf /":              {"all good␣U+000Drm -rf /", []string{"U+000D"}},
		"a\r\r\n":                         {"a␣U+000D␍\n", []string{"U+000D"}},
		"\ue000 \U000f0000 \U0010fffd":    {"␣U+E000 ␣U+F0000 ␣U+10FFFD", []string{"U+E000", "U+F0000", "U+10FFFD"}},
		"\u0378 \ufdd0 \U0001ffff":        {"␣U+0378 ␣U+FDD0 ␣U+1FFFF", []string{"U+0378", "U+FDD0", "U+1FFFF"}},
		"x\ufe0f a\ufe00 b\U000e0100":     {"x␣U+FE0F a␣U+FE00 b␣U+E0100", []string{"U+FE0F", "U+FE00", "U+E0100"}},
		"☀\ufe0f\ufe0f 1\ufe0f 😀\ufe00":   {"☀␣U+FE0F␣U+FE0F 1␣U+FE0F 😀␣U+FE00", []string{"U+FE0F", "U+FE00"}},
		"a\u200db \u200cx 😀\u200dx":       {"a␣U+200Db ␣U+200Cx 😀␣U+200Dx", []string{"U+200D", "U+200C"}},
		"bad\xff\xc3(":                    {"bad␣xFF␣xC3(", []string{"byte 0xFF", "byte 0xC3"}},
		"lost \ufffd, shown ␣xFF":         {"lost \ufffd, shown ␣xFF", []string{"bytes that are not text"}},
		"curl https://pаypal.com/x":       {"curl https://p␣U+0430ypal.com/x", []string{`"p␣U+0430ypal"`}},
		"scriрt and аdmin, and scriрt":    {"scri␣U+0440t and ␣U+0430dmin, and scri␣U+0440t", []string{`"scri␣U+0440t"`, `"␣U+0430dmin"`}},
		"Пapa":                            {"␣U+041Fapa", []string{`"␣U+041Fapa"`}},
		"gοοgle":                          {"g␣U+03BF␣U+03BFgle", []string{`"g␣U+03BF␣U+03BFgle"`}},
		"deployа":                         {"deploy␣U+0430", []string{`"deploy␣U+0430"`}},
		"приοт":                           {"при␣U+03BFт", []string{`"при␣U+03BFт"`}},
		"hоst_name hοst-name":             {"h␣U+043Est_name h␣U+03BFst-name", []string{`"h␣U+043Est"`, `"h␣U+03BFst"`}},
		"\u202eSQLом":                     {"␣U+202ESQL␣U+043E␣U+043C", []string{"U+202E", `"SQL␣U+043E␣U+043C"`}},
		"@@ -5,2 +5,2 @@\n \ufeffx":       {"@@ -5,2 +5,2 @@\n ␣U+FEFFx", []string{"U+FEFF"}},
		"օpen Ꭺpple":                      {"␣U+0585pen ␣U+13AApple", []string{`"␣U+0585pen"`, `"␣U+13AApple"`}},
		strings.Repeat("a", 300) + "\x00": {strings.Repeat("a", 300) + "␣U+0000", []string{"U+0000"}},
	} {
		assert.Equal(t, want.shown, visible.Text(in), "%q", in)
		assert.Equal(t, want.hidden, visible.Hidden(in), "%q", in)
	}
}

// TestWhatReadsAsSomethingElse: look-alikes that mix no alphabets.
func TestWhatReadsAsSomethingElse(t *testing.T) {
	for in, want := range map[string]struct {
		shown  string
		hidden []string
	}{
		"rm /usr∕bin/x evil․com":               {"rm /usr␣U+2215bin/x evil␣U+2024com", []string{"U+2215", "U+2024"}},
		"--dry‐run --no‑verify -−x":            {"--dry␣U+2010run --no␣U+2011verify -␣U+2212x", []string{"U+2010", "U+2011", "U+2212"}},
		"hostː80 host꞉80 host∶80 a∖b x\u037ey": {"host␣U+02D080 host␣U+A78980 host␣U+223680 a␣U+2216b x␣U+037Ey", []string{"U+02D0", "U+A789", "U+2236", "U+2216", "U+037E"}},
		"a⁄∕b 127․0․0․1 10.0.0.0∕8":            {"a␣U+2044␣U+2215b 127␣U+20240␣U+20240␣U+20241 10.0.0.0␣U+22158", []string{"U+2044", "U+2215", "U+2024"}},
		"1∕2.txt /a/1∕2 1∕2/a v1−2 1−2_a":      {"1␣U+22152.txt /a/1␣U+22152 1␣U+22152/a v1␣U+22122 1␣U+22122_a", []string{"U+2215", "U+2212"}},
		"𝐫𝑚 ℯtc \u212a8s 𝟙 𝚨 🯱":                {"␣U+1D42B␣U+1D45A ␣U+212Ftc ␣U+212A8s ␣U+1D7D9 ␣U+1D6A8 ␣U+1FBF1", []string{"U+1D42B", "U+1D45A", "U+212F", "U+212A", "U+1D7D9", "U+1D6A8", "U+1FBF1"}},
		"ｒm 1０ ｆｕｌｌ":                           {"␣U+FF52m 1␣U+FF10 ｆｕｌｌ", []string{`"␣U+FF52m"`, `"1␣U+FF10"`}},
		"gıthub ɡit heⅼp ｇıt conﬁg":            {"g␣U+0131thub ␣U+0261it he␣U+217Cp ␣U+FF47␣U+0131t con␣U+FB01g", []string{`"g␣U+0131thub"`, `"␣U+0261it"`, `"he␣U+217Cp"`, `"␣U+FF47␣U+0131t"`, `"con␣U+FB01g"`}},
		"cat сору, с":                          {"cat ␣U+0441␣U+043E␣U+0440␣U+0443, ␣U+0441", []string{`"␣U+0441␣U+043E␣U+0440␣U+0443"`, `"␣U+0441"`}},
		"сору пpивет":                          {"␣U+0441␣U+043E␣U+0440␣U+0443 ␣U+043Fp␣U+0438␣U+0432␣U+0435␣U+0442", []string{`"␣U+0441␣U+043E␣U+0440␣U+0443"`, `"␣U+043Fp␣U+0438␣U+0432␣U+0435␣U+0442"`}},
		"run νιο, α":                           {"run ␣U+03BD␣U+03B9␣U+03BF, α", []string{`"␣U+03BD␣U+03B9␣U+03BF"`}},
		"ıSQLом":                               {"␣U+0131SQL␣U+043E␣U+043C", []string{`"␣U+0131SQL␣U+043E␣U+043C"`}},
		"the line∕of\nthe ﬁrst\u202e of them":  {"the line␣U+2215of\nthe ␣U+FB01rst␣U+202E of them", []string{"U+2215", `"␣U+FB01rst"`, "U+202E"}},
	} {
		assert.Equal(t, want.shown, visible.Text(in), "%q", in)
		assert.Equal(t, want.hidden, visible.Hidden(in), "%q", in)
		assert.Equal(t, want.shown, visible.Text(want.shown), "%q", in)
		assert.Empty(t, visible.Hidden(want.shown), "%q", in)
	}
	f, _ := visible.FindHidden("command", "first\nls /usr∕bin\r\nlast")
	assert.Equal(t, `U+2215 in command "ls /usr␣U+2215bin"`, f.String(), "what stands before a sign counts, and the line is cut behind")
}

// TestWhatIsHarmless: shown, where it would not be seen, and nothing said of it.
func TestWhatIsHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"plain text, tabs\tand\nlines": "plain text, tabs\tand\nlines",
		"Grüße 日本 🙂 naïve ｆｕｌｌ": "Grüße 日本 🙂 naïve ｆｕｌｌ",
		"lines\r\nof\r\n":       "lines␍\nof␍\n",
		"\ufeff# Title":         "␣U+FEFF# Title",
		"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-\ufeffa\n+\ufeffb\n c": "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-␣U+FEFFa\n+␣U+FEFFb\n c",
		"@@ -0,0 +1 @@\n+\ufeffa":                                   "@@ -0,0 +1 @@\n+␣U+FEFFa",
		"👩\u200d💻 👩🏽\u200d💻 ❤\ufe0f\u200d🔥":                         "👩␣U+200D💻 👩🏽␣U+200D💻 ❤␣U+FE0F␣U+200D🔥",
		"⚠\ufe0f 1\ufe0f\u20e3 ©\ufe0e":                             "⚠␣U+FE0F 1␣U+FE0F\u20e3 ©␣U+FE0E",
		"می\u200cخواهم":                                             "می␣U+200Cخواهم",
		"क्\u200dष":                                                 "क्␣U+200Dष",
		"SQLом и JSONами, Docker-образ":                             "SQLом и JSONами, Docker-образ",
		"a well‐known plug‑in, state‑of‑the‑art. UTC−5":             "a well‐known plug‑in, state‑of‑the‑art. UTC−5",
		"Δx 10μs kΩ λ α":                                            "Δx 10μs kΩ λ α",
		"файл_name файл.txt /каталог/dir":                           "файл_name файл.txt /каталог/dir",
		"сору, а это русский текст: с, ура":                         "сору, а это русский текст: с, ура",
		"1⁄2 cup, 3 − 1, 3−1, 0.5−1.5, 1∶2, −5 °C, 10‑20ms.":        "1⁄2 cup, 3 − 1, 3−1, 0.5−1.5, 1∶2, −5 °C, 10‑20ms.",
		"(1⁄2) 1⁄2-inch ½ pre‐ and post‐ 2024∕05∕12 −1−2":           "(1⁄2) 1⁄2-inch ½ pre‐ and post‐ 2024∕05∕12 −1−2",
		"don’t – pages 3–5, “a—b” … Kazanʹ Linux／Windows":           "don’t – pages 3–5, “a—b” … Kazanʹ Linux／Windows",
		"kapıyı aç, ışık":                                           "kapıyı aç, ışık",
		"kapıyı ac\u0327":                                           "kapıyı ac\u0327",
		"ı Louis ⅩⅣ, ⅹ ℹ ™ №":                                       "ı Louis ⅩⅣ, ⅹ ℹ ™ №",
		"１２ ＡＢ Ａ日本 αΔ νιο λ":                                        "１２ ＡＢ Ａ日本 αΔ νιο λ",
		"α, ν or ο of π":                                            "α, ν or ο of π",
		"\u0600١٢":                                                  "\u0600١٢",
		"a\u00a0b\u3000c":                                           "a\u00a0b\u3000c",
		"rm␣U+202E shown before":                                    "rm␣U+202E shown before",
	} {
		assert.Equal(t, want, visible.Text(in), "%q", in)
		assert.Empty(t, visible.Hidden(in), "%q", in)
	}
	assert.Equal(t, "a b␣U+202Ec", visible.OneLine(" a\r\n\tb\u202ec "))
}

func TestNothingIsHiddenInJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"plain \"\\u\" \n"}`:             `{"a":"plain \"\\u\" \n"}`,
		"{\"a\u200b\":\"x\u202ey\"}":           `{"a␣U+200B":"x␣U+202Ey"}`,
		`{"a":"x\u202Ey\u200b"}`:               `{"a":"x␣U+202Ey␣U+200B"}`,
		`["\udb40\udc41 \ud83d\ude42 \u001b"]`: `["␣U+E0041 🙂 ␣U+001B"]`,
		`["\u0041 \\u202e \u000a\r\n"]`:        `["\u0041 \\u202e \u000a\r\n"]`,
		`{"a":"x\ry","b":"p\u0430y"}`:          `{"a":"x␣U+000Dy","b":"p␣U+0430y"}`,
		`{ "a" : 1.50 , "b":"\u202e\"\\\t" }`:  `{ "a" : 1.50 , "b":"␣U+202E\"\\\t" }`,
		"broken \u202e":                        `broken ␣U+202E`,
		`\`:                                    `\`,
	} {
		assert.Equal(t, want, string(visible.JSON(json.RawMessage(in))), in)
	}
	clean := json.RawMessage(`{"a":"b"}`)
	assert.Same(t, &clean[0], &visible.JSON(clean)[0], "a clean document is returned itself")
}

func TestFindingsSayWhere(t *testing.T) {
	doc := `{"prompt":"run","files":[{"path":"skills/a.md","unified":"+ok\n+safe\u202e line\r\n+more"},{"path":".../\u200bx"}],"n":[1,true,null,"p\u0430y"],"k\u0000":2}`
	found := visible.ScanJSON(json.RawMessage(doc))
	var said []string
	for _, f := range found {
		said = append(said, f.String())
	}
	assert.Equal(t, []string{`U+202E in unified of skills/a.md "+safe␣U+202E line"`, `U+200B in path ".../␣U+200Bx"`, `"p␣U+0430y" in n "p␣U+0430y"`,
		`U+0000 in the name "k␣U+0000"`}, said)
	assert.Equal(t, `contains invisible or misleading characters: U+202E in unified of skills/a.md "+safe␣U+202E line"; U+200B in path ".../␣U+200Bx"; `+
		`"p␣U+0430y" in n "p␣U+0430y"; and in 1 more places`, visible.FindingsReason(found))
	assert.Empty(t, visible.FindingsReason(nil))
	assert.Empty(t, visible.ScanJSON(json.RawMessage(`{"a":"b\r\nc","d":"👩‍💻"}`)))
	assert.Len(t, visible.ScanJSON(json.RawMessage("no JSON\u202e")), 1)
	long := strings.Repeat("x", 200)
	f, _ := visible.FindHidden("command", long+"\u202e\u202d\u202c\u2066\u2067\u2068"+long)
	assert.Equal(t, `U+202E, U+202D, U+202C, U+2066 and 2 more in command "…`+long[:40]+`␣U+202E␣U+202D␣U+202C␣U+2066␣U+2067␣U+20…"`, f.String())
}

// concealed reports a character that no shown text may hold.
func concealed(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Bidi_Control) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r >= 0xe0000 && r <= 0xe0fff)
}

// FuzzText: nothing is hidden in what is shown, and it is shown already.
func FuzzText(f *testing.F) {
	for _, s := range []string{"rm\u202e x", "\ufeffa\r\nb\rc", "\xff\xfe", "pаypal SQLом 1ABом", "👩\u200d💻❤\ufe0f", "می\u200cخواهم", "␣U+202EABом", "\u202e1ABом", "␣xFFом\xffом",
		"␣U+E0041F\U000e0041ом", "␣", "␣U+", "@@ -1 +1 @@\n+\ufeffa", "Δx gοοgle приοт", "usr∕bin a⁄∕b\u202e12∕3", "\u202eAB1−2 v1−2.3", "ıSQLом ıа ⅼab", "SQLомｂ ｂSQLом", "сору ASCIIом", "сοс ΔxΑΒ νιο", "ı\u034fa c\u0327ı",
		"𝐚ABом ℯ𝚨", "␣U+2215A∕bом", "ɡ2.12∕3a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := visible.Text(s)
		assert.True(t, utf8.ValidString(shown), "%q", shown)
		assert.False(t, strings.ContainsFunc(shown, concealed), "%q became %q", s, shown)
		assert.Equal(t, shown, visible.Text(shown), "%q", s)
		for _, what := range visible.Hidden(shown) {
			assert.Equal(t, "bytes that are not text", what, "%q became %q", s, shown)
		}
		if shown == s && utf8.ValidString(s) && !strings.ContainsAny(s, "\ufffd␣") {
			assert.Empty(t, visible.Hidden(s))
		}
	})
}

// FuzzJSON: a document stays one, has the same shape, and nothing in it is hidden any more, however often it is read.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":"\u202e","b":["\u200b\udb40\udc01","\\u202e"],"c":1}`)
	f.Add("{\"a\":\"\u202e\u2066\r\"}")
	f.Add(`"\\\u200b"`)
	f.Add(`"\ud83d \r\n x\ry p\u0430y"`)
	f.Fuzz(func(t *testing.T, doc string) {
		var before any
		if json.Unmarshal([]byte(doc), &before) != nil {
			return
		}
		shown := visible.JSON(json.RawMessage(doc))
		var after any
		require.NoError(t, json.Unmarshal(shown, &after), "%s became %s", doc, shown)
		assert.Equal(t, string(shown), string(visible.JSON(shown)), "it is visible now")
		for _, found := range visible.ScanJSON(shown) {
			assert.Equal(t, []string{"bytes that are not text"}, found.What, "%s became %s", doc, shown)
		}
		if text, ok := after.(string); ok {
			assert.Equal(t, visible.Text(before.(string)), visible.Text(text))
			assert.False(t, strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", "\n"), concealed), "%q", text)
		}
	})
}
