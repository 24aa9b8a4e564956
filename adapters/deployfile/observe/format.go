package observe

import (
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// An index file is a header and its folders, sorted by path, each with its entries, sorted by name. Numbers are little-endian.
//
//	header  magic and version (8), CRC-32C of all that follows (4), folders (4), entries (4), bytes of all paths and names together (4)
//	folder  bytes of its path shared with the folder before (uvarint), bytes that differ (uvarint), those bytes, entries (uvarint)
//	entry   bytes of its name (uvarint), those bytes, sum (32), size, mtime, ctime, inode, device (8 each), idle (1)
const (
	magic        = "csgnsix\x02" // the last byte is the version
	headerSize   = len(magic) + 16
	fixedSize    = len(deployment.Sum{}) + 5*8 + 1
	indexMaxPath = 4096 // PATH_MAX of Linux; longer ones cannot be opened
)

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// encode is the file of folders, which are sorted, do not repeat and have entries of which the same is true.
func encode(folders []folder) []byte {
	count, texts := 0, 0
	for i := range folders {
		count, texts = count+len(folders[i].entries), texts+len(folders[i].path)
		for j := range folders[i].entries {
			texts += len(folders[i].entries[j].name)
		}
	}
	data := make([]byte, headerSize, headerSize+texts+len(folders)*8+count*(fixedSize+2))
	previous := ""
	for i := range folders {
		f := &folders[i]
		shared := sharedPrefix(previous, f.path)
		data = binary.AppendUvarint(data, uint64(shared))
		data = binary.AppendUvarint(data, uint64(len(f.path)-shared))
		data = append(data, f.path[shared:]...)
		data = binary.AppendUvarint(data, uint64(len(f.entries)))
		for j := range f.entries {
			data = f.entries[j].append(data)
		}
		previous = f.path
	}
	copy(data, magic)
	for i, n := range [...]int{len(folders), count, texts} {
		binary.LittleEndian.PutUint32(data[len(magic)+4+4*i:], uint32(n))
	}
	binary.LittleEndian.PutUint32(data[len(magic):], checksum(data[len(magic)+4:]))
	return data
}

func (e *indexEntry) append(data []byte) []byte {
	data = binary.AppendUvarint(data, uint64(len(e.name)))
	data = append(data, e.name...)
	data = append(data, e.sum[:]...)
	for _, n := range [...]uint64{uint64(e.stamp.size), uint64(e.stamp.mtime), uint64(e.stamp.ctime), e.stamp.inode, e.stamp.device} {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	return append(data, e.idle)
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// decode is the folders of a file; false when it is damaged, foreign or of another version. All texts share one allocation, and so do all
// entries.
func decode(data []byte) ([]folder, bool) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic ||
		binary.LittleEndian.Uint32(data[len(magic):]) != checksum(data[len(magic)+4:]) {
		return nil, false
	}
	claimed := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(data[len(magic)+4+4*i:])) }
	count, entries, texts := claimed(0), claimed(1), claimed(2)
	r := reader{rest: data[headerSize:]}
	if entries > uint64(len(r.rest)/fixedSize) || count > entries || texts > uint64(len(r.rest))+count*indexMaxPath { // before any memory is set aside for them
		return nil, false
	}
	r.texts.Grow(int(texts))
	r.entries = make([]indexEntry, 0, int(entries))
	out := make([]folder, 0, int(count))
	previous := ""
	for range int(count) {
		f, ok := r.folder(previous)
		if !ok || len(out) > 0 && f.path <= previous || r.texts.Len() > int(texts) {
			return nil, false
		}
		out, previous = append(out, f), f.path
	}
	return out, len(r.rest) == 0 && r.texts.Len() == int(texts) && len(r.entries) == int(entries)
}

// reader reads a file piece by piece.
type reader struct {
	rest    []byte
	texts   strings.Builder
	entries []indexEntry
}

// number is the next uvarint, at most most.
func (r *reader) number(most int) (int, bool) {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(most) {
		return 0, false
	}
	r.rest = r.rest[size:]
	return int(n), true
}

// text is shared and the next bytes, as many as the next uvarint says.
func (r *reader) text(shared string) (string, bool) {
	n, ok := r.number(len(r.rest))
	if !ok || n > len(r.rest) || len(shared)+n > r.texts.Cap()-r.texts.Len() {
		return "", false
	}
	start := r.texts.Len()
	r.texts.WriteString(shared)
	r.texts.Write(r.rest[:n])
	r.rest = r.rest[n:]
	return r.texts.String()[start:], true
}

func (r *reader) folder(previous string) (f folder, ok bool) {
	shared, ok := r.number(len(previous))
	if !ok {
		return f, false
	}
	if f.path, ok = r.text(previous[:shared]); !ok {
		return f, false
	}
	n, ok := r.number(cap(r.entries) - len(r.entries))
	if !ok || n == 0 {
		return f, false
	}
	start := len(r.entries)
	for range n {
		name, ok := r.text("")
		if !ok || len(r.rest) < fixedSize || name == "" || len(r.entries) > start && name <= r.entries[len(r.entries)-1].name {
			return f, false
		}
		r.entries = append(r.entries, indexEntry{name: name})
		r.entries[len(r.entries)-1].fill(r.rest[:fixedSize])
		r.rest = r.rest[fixedSize:]
	}
	f.entries = r.entries[start:len(r.entries):len(r.entries)] // one that is added later makes a copy
	return f, true
}

func (e *indexEntry) fill(data []byte) {
	n := copy(e.sum[:], data)
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(data[n+8*i:]) }
	e.stamp = stamp{size: int64(number(0)), mtime: int64(number(1)), ctime: int64(number(2)), inode: number(3), device: number(4)}
	e.idle = data[fixedSize-1]
}
