package statindex

import (
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// An index file is a header and its entries, sorted by path. Numbers are little-endian.
//
//	header  magic and version (8), CRC-32C of all that follows (4), entries (4), bytes of all paths together (4)
//	entry   bytes shared with the path before (uvarint), bytes that differ (uvarint), those bytes,
//	        sum (32), size, mtime, ctime, inode, device (8 each), idle (1)
const (
	magic      = "csgnsix\x01" // the last byte is the version
	headerSize = len(magic) + 12
	fixedSize  = len(deployment.Sum{}) + 5*8 + 1
	maxPath    = 4096 // PATH_MAX of Linux; longer ones cannot be opened
)

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// encode is the file of entries, which are sorted by path and do not repeat.
func encode(entries []entry) []byte {
	total := 0
	for i := range entries {
		total += len(entries[i].path)
	}
	data := make([]byte, headerSize, headerSize+total+len(entries)*(fixedSize+4))
	previous := ""
	for i := range entries {
		e := &entries[i]
		shared := sharedPrefix(previous, e.path)
		data = binary.AppendUvarint(data, uint64(shared))
		data = binary.AppendUvarint(data, uint64(len(e.path)-shared))
		data = append(data, e.path[shared:]...)
		data = append(data, e.sum[:]...)
		for _, n := range [...]uint64{uint64(e.stamp.size), uint64(e.stamp.mtime), uint64(e.stamp.ctime), e.stamp.inode, e.stamp.device} {
			data = binary.LittleEndian.AppendUint64(data, n)
		}
		data = append(data, e.idle)
		previous = e.path
	}
	copy(data, magic)
	binary.LittleEndian.PutUint32(data[len(magic)+4:], uint32(len(entries)))
	binary.LittleEndian.PutUint32(data[len(magic)+8:], uint32(total))
	binary.LittleEndian.PutUint32(data[len(magic):], checksum(data[len(magic)+4:]))
	return data
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

// decode is the entries of a file; false when it is damaged, foreign or of another version. All paths share one allocation.
func decode(data []byte) ([]entry, bool) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic ||
		binary.LittleEndian.Uint32(data[len(magic):]) != checksum(data[len(magic)+4:]) {
		return nil, false
	}
	claimed := uint64(binary.LittleEndian.Uint32(data[len(magic)+4:]))
	bytes := uint64(binary.LittleEndian.Uint32(data[len(magic)+8:]))
	rest := data[headerSize:]
	if claimed > uint64(len(rest)/fixedSize) || bytes > claimed*maxPath { // before any memory is set aside for them
		return nil, false
	}
	count, total := int(claimed), int(bytes)
	var paths strings.Builder
	paths.Grow(total)
	entries := make([]entry, count)
	previous := ""
	for i := range entries {
		path, after, ok := nextPath(&paths, previous, rest)
		if !ok || len(after) < fixedSize || path <= previous || paths.Len() > total {
			return nil, false
		}
		entries[i].path = path
		entries[i].fill(after[:fixedSize])
		previous, rest = path, after[fixedSize:]
	}
	return entries, len(rest) == 0 && paths.Len() == total
}

// nextPath appends the path that rest begins with to paths and gives it, and what follows it.
func nextPath(paths *strings.Builder, previous string, rest []byte) (path string, after []byte, ok bool) {
	shared, n := binary.Uvarint(rest)
	if n <= 0 || shared > uint64(len(previous)) {
		return "", nil, false
	}
	rest = rest[n:]
	differ, n := binary.Uvarint(rest)
	if n <= 0 || differ > uint64(len(rest)-n) {
		return "", nil, false
	}
	start := paths.Len()
	paths.WriteString(previous[:shared])
	paths.Write(rest[n : n+int(differ)])
	return paths.String()[start:], rest[n+int(differ):], true
}

func (e *entry) fill(data []byte) {
	n := copy(e.sum[:], data)
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(data[n+8*i:]) }
	e.stamp = stamp{size: int64(number(0)), mtime: int64(number(1)), ctime: int64(number(2)), inode: number(3), device: number(4)}
	e.idle = data[fixedSize-1]
}
