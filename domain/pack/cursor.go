package pack

import (
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
)

// ErrCursor reports a cursor that does not continue this document.
var ErrCursor = fault.New(fault.Invalid, "pack_cursor_invalid", "invalid_cursor: start again without a cursor")

// Cursor is where a document continues. A fingerprint of the pack, its revision and the options prevents pages of different documents from being put
// together.
type Cursor struct {
	Offset int
	Limit  int
}

const cursorPrefix = "v1."

// Encode returns the cursor's text: v1.offset.limit.fingerprint.
func (c Cursor) Encode(s State, o Options) string {
	return cursorPrefix + strconv.Itoa(c.Offset) + "." + strconv.Itoa(c.Limit) + "." + fingerprint(s, o, c)
}

// ParseCursor reads a cursor for this pack and these options; their Offset and Limit are ignored. It fails with ErrCursor, which says what does not
// fit as far as that is known.
func ParseCursor(text string, s State, o Options) (Cursor, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), cursorPrefix)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 {
		return Cursor{}, ErrCursor.WithMessage("invalid_cursor: malformed; copy the value of next unchanged")
	}
	offset, errOffset := strconv.Atoi(parts[0])
	limit, errLimit := strconv.Atoi(parts[1])
	c := Cursor{Offset: offset, Limit: limit}
	switch {
	case errOffset != nil || errLimit != nil || offset < 0 || limit < 0:
		return Cursor{}, ErrCursor.WithMessage("invalid_cursor: malformed; copy the value of next unchanged")
	case parts[2] != fingerprint(s, o, c):
		return Cursor{}, ErrCursor.WithMessage("invalid_cursor: it belongs to another pack, revision, view, match or max_tokens; " +
			"repeat those, or start again without a cursor")
	}
	return c, nil
}

func fingerprint(s State, o Options, c Cursor) string {
	match := ""
	if o.Match != nil {
		match = o.Match.String()
	}
	view := o.View
	if view == "" {
		view = ViewFull
	}
	text := strings.Join([]string{
		string(s.ID), strconv.FormatUint(s.Revision, 10), string(view), strconv.Itoa(o.MaxTokens),
		strconv.Itoa(c.Offset), strconv.Itoa(c.Limit), match,
	}, "\x00")
	return canon.SumBytes("pack.cursor.v1", []byte(text)).Hex()[:16]
}
