package anchoring_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/anchoring"
	"github.com/countersign-dev/countersign/domain/audit"
)

// journald is a socket that takes what the journal takes, and a program that prints what it took as journalctl does.
type journald struct {
	t      *testing.T
	conn   *net.UnixConn
	socket string
	book   string
}

func listen(t *testing.T) *journald {
	dir := t.TempDir()
	j := &journald{t: t, socket: filepath.Join(dir, "s"), book: filepath.Join(dir, "book")}
	var err error
	j.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: j.socket, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.conn.Close()) })
	require.NoError(t, os.WriteFile(j.book, nil, 0o600))
	return j
}

func (j *journald) open() *anchoring.Journal {
	return anchoring.OpenJournal(j.socket, "sh", "-c", `case "$*" in *MESSAGE_ID=6f1c3bd0c7a44b6a9d2e5a80f7e1b9c4\ _UID=*) cat "$0" ;; *) echo "what? $*" >&2; exit 1 ;; esac`, j.book)
}

// take returns the next entry; it goes into the book, without its other fields.
func (j *journald) take() map[string]string {
	buf := make([]byte, 1<<16)
	n, err := j.conn.Read(buf)
	require.NoError(j.t, err)
	fields := map[string]string{}
	for line := range strings.Lines(string(buf[:n])) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		require.True(j.t, ok, line)
		fields[name] = value
	}
	doc, err := json.Marshal(map[string]string{"__CURSOR": "s=1", "COUNTERSIGN_HEAD": fields["COUNTERSIGN_HEAD"]})
	require.NoError(j.t, err)
	book, err := os.OpenFile(j.book, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(j.t, err)
	_, err = book.Write(append(doc, '\n'))
	require.NoError(j.t, err)
	require.NoError(j.t, book.Close())
	return fields
}

func TestTheSystemsJournal(t *testing.T) {
	assert.Nil(t, anchoring.OpenJournal(filepath.Join(t.TempDir(), "none")))
	j := listen(t)
	h := open(t)
	h.journal = j.open()
	h.again()
	h.append(2)
	h.again()
	fields := j.take()
	assert.Equal(t, "countersign", fields["SYSLOG_IDENTIFIER"])
	assert.Contains(t, fields["MESSAGE"], "come to record 2")
	r := h.check()
	assert.Empty(t, words(r))
	require.Len(t, r.Anchors, 2)
	assert.Equal(t, audit.AnchorJournal, r.Anchors[1].Kind)
	assert.EqualValues(t, 2, r.Anchors[1].To)

	// It is used unasked; taking it from the list is on record, and without a record it is noticed.
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "anchors.json"), []byte(`{"no_journal":true}`), 0o600))
	require.ErrorIs(t, h.check().Err(), audit.ErrContradicted)
	require.NoError(t, os.Remove(filepath.Join(h.dir, "anchors.json")))
	_, err := h.keeper.Remove(t.Context(), "terminal", audit.Anchor{Kind: "journal"})
	require.NoError(t, err)
	assert.Empty(t, words(h.check()))
	_, err = h.keeper.Add(t.Context(), "terminal", audit.Anchor{Kind: "journal"})
	require.NoError(t, err)
	j.take() // by Add itself

	// What it has forgotten is said, and contradicts nothing; what it knows does.
	book := h.read(j.book)
	require.NoError(t, os.WriteFile(j.book, nil, 0o600))
	r = h.check()
	assert.Empty(t, words(r))
	assert.Contains(t, r.Anchors[1].Note, "earlier entries are missing from it")
	require.NoError(t, os.WriteFile(j.book, book, 0o600))
	h.rebuild(1, true)
	r = h.check()
	require.ErrorIs(t, r.Err(), audit.ErrContradicted)
	assert.Contains(t, r.Anchors[1].Problem, "record 2 differs from the one anchored at")
	require.NoError(t, os.Remove(j.book))
	r = h.check()
	assert.Empty(t, r.Anchors[1].Problem)
	assert.Contains(t, r.Anchors[1].Note, "cannot read the system journal")
}
