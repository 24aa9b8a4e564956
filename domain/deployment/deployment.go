package deployment

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"slices"
	"strconv"
)

// Sum is the SHA-256 of some content. Its text form is 64 lower-case hex digits; the zero Sum stands for no content at all.
type Sum [sha256.Size]byte

// SumOf is the sum of data.
func SumOf(data []byte) Sum { return sha256.Sum256(data) }

// String is 64 lower-case hex digits, or nothing for the zero Sum.
func (s Sum) String() string {
	if s.IsZero() {
		return ""
	}
	return hex.EncodeToString(s[:])
}

// Labelled is the sum with its algorithm: "sha256:" and the digits, or nothing for the zero Sum.
func (s Sum) Labelled() string {
	if s.IsZero() {
		return ""
	}
	return "sha256:" + s.String()
}

// IsZero reports whether s stands for no content.
func (s Sum) IsZero() bool { return s == Sum{} }

// Short is the first n hex digits.
func (s Sum) Short(n int) string { return hex.EncodeToString(s[:])[:n] }

// MarshalText is String.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads 64 hex digits, or nothing, and fails with ErrSum on anything else.
func (s *Sum) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Sum{}
		return nil
	}
	var parsed Sum
	if len(text) != hex.EncodedLen(len(parsed)) {
		return ErrSum
	}
	if _, err := hex.Decode(parsed[:], text); err != nil {
		return ErrSum
	}
	*s = parsed
	return nil
}

// Content is what a file holds: its sum and size always, the bytes themselves where something had to read or make them. Otherwise
// Origin names where they can be read, and whoever reads them checks the sum.
type Content struct {
	Sum    Sum
	Size   int64
	Data   []byte
	Origin string // absolute native path; empty when Data is the content
}

// ContentOf is the content that data is.
func ContentOf(data []byte) Content {
	if data == nil {
		data = []byte{}
	}
	return Content{Sum: SumOf(data), Size: int64(len(data)), Data: data}
}

// The modes of deployed files. Of a mode only the executable bits are compared: the rest is the user's umask.
const (
	PlainMode      fs.FileMode = 0o644
	ExecutableMode fs.FileMode = 0o755
)

// ModeOf is Plain or Executable, by whether the owner may execute.
func ModeOf(m fs.FileMode) fs.FileMode {
	if m&0o100 != 0 {
		return ExecutableMode
	}
	return PlainMode
}

// File is one file of a tree. Path is relative to the tree's root, with slashes.
type File struct {
	Path    string
	Mode    fs.FileMode // Plain or Executable
	Content Content
}

// Tree is the files of a module, sorted by the bytes of their paths; paths do not repeat.
type Tree []File

// Sort puts the tree into its order.
func (t Tree) Sort() { slices.SortFunc(t, func(a, b File) int { return cmp.Compare(a.Path, b.Path) }) }

// Find is the file of that path.
func (t Tree) Find(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(t, path, func(f File, p string) int { return cmp.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return t[i], true
}

// Sum is the tree's sum: SHA-256 over path, sum in hex and size in decimal, a line each, file by file (agentpack contract §1.7).
func (t Tree) Sum() Sum {
	h := sha256.New()
	var line []byte
	for _, f := range t {
		line = append(append(line[:0], f.Path...), '\n')
		line = append(append(line, f.Content.Sum.String()...), '\n')
		line = append(strconv.AppendInt(line, f.Content.Size, 10), '\n')
		h.Write(line)
	}
	return Sum(h.Sum(nil))
}

// Entry is one line of a file manifest, as lockfiles and baselines keep it (agentpack contract §2.4, §3.2).
type Entry struct {
	Path  string `json:"path"`
	Sum   Sum    `json:"sha256"`
	Bytes int64  `json:"bytes"`
}

// Entries is the tree's file manifest; never nil.
func (t Tree) Entries() []Entry {
	out := make([]Entry, len(t))
	for i, f := range t {
		out[i] = Entry{f.Path, f.Content.Sum, f.Content.Size}
	}
	return out
}

// IsText reports content that people read line by line: valid UTF-8 is checked by whoever decodes it, a NUL byte is never text.
func IsText(data []byte) bool { return !bytes.ContainsRune(data, 0) }
