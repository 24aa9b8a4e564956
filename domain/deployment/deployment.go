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

// Sum is the SHA-256 of some content. Its text form is 64 lower-case hex digits; the zero Sum stands for no content.
type Sum [sha256.Size]byte

// SumOf returns the sum of data.
func SumOf(data []byte) Sum { return sha256.Sum256(data) }

// String is 64 lower-case hex digits, or nothing for the zero Sum.
func (s Sum) String() string {
	if s.IsZero() {
		return ""
	}
	return hex.EncodeToString(s[:])
}

// Labelled returns the sum with its algorithm: "sha256:" and the digits, or nothing for the zero Sum.
func (s Sum) Labelled() string {
	if s.IsZero() {
		return ""
	}
	return "sha256:" + s.String()
}

// IsZero reports whether s stands for no content.
func (s Sum) IsZero() bool { return s == Sum{} }

// Short returns the first n hex digits.
func (s Sum) Short(n int) string { return hex.EncodeToString(s[:])[:n] }

// MarshalText is String.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses 64 hex digits, or nothing. It fails with ErrSum for anything else.
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

// Content is the content of a file: always its sum and size, and the bytes if they were read or made. Otherwise Origin names where they can be read;
// the reader checks the sum.
type Content struct {
	Sum    Sum
	Size   int64
	Data   []byte
	Origin string // absolute native path; empty when Data is the content
}

// ContentOf returns the content that data is.
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

// ModeOf returns PlainMode or ExecutableMode, by whether the owner may execute.
func ModeOf(m fs.FileMode) fs.FileMode {
	if m&0o100 != 0 {
		return ExecutableMode
	}
	return PlainMode
}

// File is one file of a tree. Path is relative to the tree's root, with slashes.
type File struct {
	Path    string
	Mode    fs.FileMode // PlainMode or ExecutableMode
	Content Content
}

// Tree is the files of a module, sorted by the bytes of their paths; paths do not repeat.
type Tree []File

// Sort sorts the tree.
func (t Tree) Sort() { slices.SortFunc(t, func(a, b File) int { return cmp.Compare(a.Path, b.Path) }) }

// Find returns the file with that path.
func (t Tree) Find(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(t, path, func(f File, p string) int { return cmp.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return t[i], true
}

// Sum returns the tree's sum: SHA-256 over path, sum in hex and size in decimal, one line per file (agentpack contract §1.7).
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

// Entry is one line of a file manifest, as in lockfiles and baselines (agentpack contract §2.4, §3.2).
type Entry struct {
	Path  string `json:"path"`
	Sum   Sum    `json:"sha256"`
	Bytes int64  `json:"bytes"`
}

// Entries returns the tree's file manifest; never nil.
func (t Tree) Entries() []Entry {
	out := make([]Entry, len(t))
	for i, f := range t {
		out[i] = Entry{f.Path, f.Content.Sum, f.Content.Size}
	}
	return out
}

// IsText reports whether people can read the content line by line: it has no NUL byte. The decoder checks that it is valid UTF-8.
func IsText(data []byte) bool { return !bytes.ContainsRune(data, 0) }
