package project

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MinText is the smallest limit of a text; smaller limits are raised to this many bytes.
const MinText = 256

// TruncateMiddle returns text in valid UTF-8 and at most limit bytes (packageflow contract §2.4): of a longer text, the beginning and the end, with a
// line between them that says so. It cuts between lines if possible, else between characters, and reports whether it did.
func TruncateMiddle(text string, limit int) (string, bool) {
	w := window{limit: max(limit, MinText)}
	_, _ = w.Write([]byte(text))
	return w.text()
}

// window keeps the beginning and the end of what is written, in memory that does not depend on the total.
type window struct {
	limit      int
	head, tail []byte // each at least limit bytes, if that much was written; they overlap for a short text
	total      int64
}

// Write accepts everything and never fails.
func (w *window) Write(p []byte) (int, error) {
	w.total += int64(len(p))
	w.head = append(w.head, p[:min(len(p), w.limit-len(w.head))]...)
	w.tail = append(w.tail, p[max(0, len(p)-w.limit):]...)
	if len(w.tail) > 4*w.limit { // seldom, so that small writes cost little
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-w.limit:]...)
	}
	return len(p), nil
}

// text returns what TruncateMiddle promises for everything that was written.
func (w *window) text() (string, bool) {
	head := plain(string(w.head))
	if w.total <= int64(w.limit) && len(head) <= w.limit {
		return head, false
	}
	mark := fmt.Sprintf("[... the middle of these %d bytes is left out ...]\n", w.total)
	room := w.limit - len(mark) - 1
	head, tail := front(head, room-room/3), back(plain(string(w.tail)), room/3)
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + mark + tail, true
}

// front returns at most n bytes of the beginning: whole lines if they are at least half of that.
func front(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	text = text[:min(n, len(text))]
	if end := strings.LastIndexByte(text, '\n') + 1; end > n/2 {
		return text[:end]
	}
	return text
}

// back returns at most n bytes of the end: whole lines if they are at least half of that.
func back(text string, n int) string {
	start := max(0, len(text)-n)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	text = text[start:]
	if end := strings.IndexByte(text, '\n') + 1; end > 0 && end <= n/2 {
		return text[end:]
	}
	return text
}
