package anchoring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/domain/audit"
)

// JournalSocket is the socket of systemd's journal.
const JournalSocket = "/run/systemd/journal/socket"

// headMessage is the MESSAGE_ID of the entries: generated once at random, as the journal requires.
const headMessage = "6f1c3bd0c7a44b6a9d2e5a80f7e1b9c4"

// Journal is a Place: entries of the system's journal, which their author cannot delete. The journal itself records the user of an entry, and deletes
// old ones.
type Journal struct {
	socket string
	argv   []string // the program that reads it
}

// OpenJournal returns the journal with that socket; nil if there is none.
func OpenJournal(socket string, argv ...string) *Journal {
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		return nil
	}
	if len(argv) == 0 {
		argv = []string{"journalctl"}
	}
	return &Journal{socket, argv}
}

// Put sends the head to the journal.
func (j *Journal) Put(ctx context.Context, h audit.Head, _ string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unixgram", j.socket)
	if err != nil {
		return "", ErrAnchor.WithMessage("cannot write to the system journal: %v", err).WithCause(err)
	}
	defer conn.Close() //nolint:errcheck // it was sent
	if _, err := conn.Write(entry(h)); err != nil {
		return "", ErrAnchor.WithMessage("cannot write to the system journal: %v", err).WithCause(err)
	}
	return "", nil
}

// entry returns a head in the journal's format: one line for each field. Values are numbers, hex or JSON and contain no line feed.
func entry(h audit.Head) []byte {
	return fmt.Appendf(nil, "MESSAGE=the audit of Countersign has come to record %d, %s\nPRIORITY=6\nSYSLOG_IDENTIFIER=countersign\nMESSAGE_ID=%s\nCOUNTERSIGN_HEAD=%s\n",
		h.Seq, h.Hash, headMessage, h.Line())
}

// Heads returns the heads that this user has written, as far as the journal still has them.
func (j *Journal) Heads(ctx context.Context, _ string) ([]audit.Head, int, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	args := append(j.argv[1:len(j.argv):len(j.argv)], "--quiet", "--no-pager", "--output=json", "--output-fields=COUNTERSIGN_HEAD", "MESSAGE_ID="+headMessage,
		"_UID="+strconv.Itoa(os.Getuid()))
	cmd := exec.CommandContext(ctx, j.argv[0], args...)
	var words bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &words, time.Second
	out, err := cmd.Output()
	if err != nil && len(bytes.TrimSpace(out)) == 0 && words.Len() > 0 {
		return nil, 0, ErrAnchor.WithMessage("cannot read the system journal: %s", strings.ToValidUTF8(strings.TrimSpace(words.String()), "?")).WithCause(err)
	}
	heads, odd := entries(out)
	return heads, odd, nil
}

// entries returns the heads in the output of journalctl.
func entries(text []byte) (heads []audit.Head, odd int) {
	for line := range bytes.Lines(text) {
		var fields struct {
			Head string `json:"COUNTERSIGN_HEAD"`
		}
		if json.Unmarshal(line, &fields) != nil {
			odd++
			continue
		}
		h, err := audit.ReadHead([]byte(fields.Head))
		if err != nil {
			odd++
			continue
		}
		heads = append(heads, h)
	}
	return heads, odd
}
