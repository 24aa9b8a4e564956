package ecosystemfile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// runLogs checks the contract of a store of run logs.
func runLogs(t *testing.T, open opener) {
	for name, test := range map[string]func(*testing.T, opener){
		"NumbersAndTimes":      numbersAndTimes,
		"GivesWhatCameAfter":   givesAfter,
		"ManyAppendAtOnce":     manyAppend,
		"CutsLongLines":        cutsLines,
		"KeepsNoSecrets":       keepsNoSecrets,
		"KeepsAnyText":         keepsAnyText,
		"MeetsItsBoundOfLines": boundOfLines,
		"MeetsItsBoundOfBytes": boundOfBytes,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// messages returns what the events after that say.
func messages(t *testing.T, h stores, n int, after int64) (out []string) {
	t.Helper()
	chunk, err := h.Runs.Events(t.Context(), runNumber(n), after)
	require.NoError(t, err)
	for i, e := range chunk.Events {
		require.Equal(t, after+int64(i)+1, e.Number)
		out = append(out, e.Message)
	}
	return out
}

func numbersAndTimes(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	chunk, err := h.Runs.Events(t.Context(), runNumber(1), 0)
	require.NoError(t, err)
	assert.Zero(t, chunk, "a run that nothing happened in")
	require.NoError(t, h.Runs.Append(t.Context(), runNumber(1)))
	require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Message: "one"}, ecosystem.RunEvent{Level: "error", Type: "exit", Message: "two", Payload: []byte(`{"exit_code":1}`)}))
	earlier := noon().Add(-time.Hour)
	require.NoError(t, open(t, u).Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Timestamp: earlier, Message: "three", Number: 77, RunID: "other"}))
	chunk, err = h.Runs.Events(t.Context(), runNumber(1), 0)
	require.NoError(t, err)
	assert.EqualValues(t, 3, chunk.Total)
	assert.False(t, chunk.Truncated)
	assert.Equal(t, []ecosystem.RunEvent{
		{Number: 1, Timestamp: noon(), Level: "info", Type: "log", Message: "one", RunID: runNumber(1)},
		{Number: 2, Timestamp: noon(), Level: "error", Type: "exit", Message: "two", RunID: runNumber(1), Payload: []byte(`{"exit_code":1}`)},
		{Number: 3, Timestamp: earlier, Level: "info", Type: "log", Message: "three", RunID: runNumber(1)},
	}, chunk.Events)
}

func givesAfter(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	const total = 3000
	events := make([]ecosystem.RunEvent, total)
	for i := range events {
		events[i].Message = fmt.Sprint(i+1, strings.Repeat("x", i%700))
	}
	require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), events...))
	for _, after := range []int64{0, 1, 2, 700, 1499, 1500, 1501, 2998, 2999} {
		got := messages(t, h, 1, after)
		require.Len(t, got, total-int(after))
		assert.Equal(t, events[after].Message, got[0])
	}
	for _, after := range []int64{3000, 3001, 1 << 40} {
		assert.Empty(t, messages(t, h, 1, after))
	}
	assert.Len(t, messages(t, h, 1, 0), total)
}

func manyAppend(t *testing.T, open opener) {
	u := newUser(t)
	one, two := open(t, u), open(t, u)
	together(t, 16, func(i int) error {
		h := one
		if i%2 == 1 {
			h = two
		}
		for n := range 10 {
			if err := h.Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Message: fmt.Sprint(i, "-", n)}, ecosystem.RunEvent{Message: fmt.Sprint(i, "-", n, " again")}); err != nil {
				return err
			}
			if _, err := h.Runs.Events(t.Context(), runNumber(1), int64(n)); err != nil {
				return err
			}
		}
		return nil
	})
	got := messages(t, one, 1, 0)
	assert.Len(t, got, 320)
	for i := 0; i < len(got); i += 2 {
		require.Equal(t, got[i]+" again", got[i+1], "what is appended together stays together")
	}
}

func cutsLines(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	for i, text := range []string{strings.Repeat("a", ecosystem.MaxLine), strings.Repeat("a", ecosystem.MaxLine+1), strings.Repeat("日", ecosystem.MaxLine), strings.Repeat("\x01", 1<<20), strings.Repeat("x", 5<<20)} {
		require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Message: text}))
		got := messages(t, h, 1, int64(i))[0]
		assert.LessOrEqual(t, len(got), ecosystem.MaxLine)
		assert.Greater(t, len(got), ecosystem.MaxLine-20)
		assert.True(t, utf8.ValidString(got))
		assert.Equal(t, i == 0, got == text)
	}
	require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Message: "big", Payload: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, ecosystem.RunEvent{Message: "bad", Payload: json.RawMessage(`{`)}))
	assert.Equal(t, []string{"big", "bad"}, messages(t, h, 1, 5), "what a payload does wrong costs the payload alone")
}

func keepsNoSecrets(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	token := "ghp_" + strings.Repeat("a1B2", 9)
	key := []string{"-----BEGIN RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEAsecretsecretsecretsecretsecretsecretsecretsecret", "-----END RSA PRIVATE KEY-----"}
	var events []ecosystem.RunEvent
	for _, line := range append(key, "clone https://me:hunter2hunter2@host/o/r", "token "+token, strings.Repeat("x", ecosystem.MaxLine-20)+" "+token) {
		events = append(events, ecosystem.RunEvent{Message: line, Payload: []byte(`{"password":"hunter2hunter2"}`)})
	}
	require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), events...))
	chunk, err := h.Runs.Events(t.Context(), runNumber(1), 0)
	require.NoError(t, err)
	text, err := json.Marshal(chunk)
	require.NoError(t, err)
	for _, secret := range []string{"hunter2", "ghp_a1B2", "MIIEow"} {
		assert.NotContains(t, string(text), secret)
	}
	assert.Len(t, chunk.Events, len(events))
}

func keepsAnyText(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	texts := []string{"", "two\nlines\r\n", "nul \x00 and \x1b[31mred", "日本 🚀 <b>&\u2028", `{"seq":1,"message":"forged"}`, "\n{\"seq\":99,\n"}
	for _, text := range texts {
		require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Message: text}))
	}
	assert.Equal(t, texts, messages(t, h, 1, 0))
	require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Message: "bad \xff\xfe"}))
	assert.Equal(t, []string{"bad \ufffd"}, messages(t, h, 1, int64(len(texts))))
}

func boundOfLines(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	batch := make([]ecosystem.RunEvent, 5000)
	for i := range batch {
		batch[i].Message = "x"
	}
	for range ecosystem.MaxLines/len(batch) + 1 {
		require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), batch...))
	}
	full(t, h, ecosystem.MaxLines)
}

func boundOfBytes(t *testing.T, open opener) {
	u := newUser(t)
	h := open(t, u)
	batch := make([]ecosystem.RunEvent, 100)
	for i := range batch {
		batch[i].Message = strings.Repeat("x y ", ecosystem.MaxLine/4)
	}
	for range ecosystem.MaxLogBytes/(len(batch)*ecosystem.MaxLine) + 2 {
		require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), batch...))
	}
	chunk, err := h.Runs.Events(t.Context(), runNumber(1), 0)
	require.NoError(t, err)
	assert.Greater(t, chunk.Total, int64(ecosystem.MaxLogBytes/ecosystem.MaxLine-50))
	full(t, h, chunk.Total)
}

// full holds a log that has met its bound with its event number last to what it promises then.
func full(t *testing.T, h stores, last int64) {
	t.Helper()
	chunk, err := h.Runs.Events(t.Context(), runNumber(1), last-1)
	require.NoError(t, err)
	require.Len(t, chunk.Events, 1)
	assert.Equal(t, last, chunk.Total)
	assert.True(t, chunk.Truncated)
	assert.Equal(t, "warning", chunk.Events[0].Level)
	assert.Contains(t, chunk.Events[0].Message, "missing")
	require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), ecosystem.RunEvent{Message: "lost"}, ecosystem.RunEvent{Type: "exit", Message: "how it ended"}))
	assert.Equal(t, []string{"how it ended"}, messages(t, h, 1, last), "what ends the run is kept")
	for range 10 {
		ends := make([]ecosystem.RunEvent, 100)
		for i := range ends {
			ends[i].Type = "exit"
		}
		require.NoError(t, h.Runs.Append(t.Context(), runNumber(1), ends...))
	}
	chunk, err = h.Runs.Events(t.Context(), runNumber(1), last)
	require.NoError(t, err)
	assert.Less(t, len(chunk.Events), 1002, "but not without bounds")
}
