package packfile

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/countersign-dev/countersign/domain/pack"
)

// A listing is the index of a store as a file, so that a new process needs not read every pack to list them. It says of each file what the file system said
// of it when it was read, and is believed for exactly those files that are still the same. Where it cannot be read, or was cut short or changed, the packs
// are read again.
//
//	header  magic and version (8), CRC-32C of all that follows (4), entries (4)
//	entry   file, name, title, brief (each its length and its bytes); status and revision; created, updated, expires (seconds and nanoseconds each);
//	        size, inode, device, mtime, ctime; numbers are varints
const (
	listingMagic  = "cspacks\x01" // the last byte is the version
	listingHeader = len(listingMagic) + 8
	listingMost   = 64 << 20 // bytes; more is not read

	listingLeast = 31 // bytes of the shortest entry: its file's name and sixteen numbers and lengths of one byte

	listingText = 16 << 10 // a pack whose name, title and brief are longer is read again
)

// Remember makes the store keep its listing in that file, which belongs to it alone: a cache, made on demand. Call it before use.
func (s *Store) Remember(file string) *Store {
	s.index.file = file
	return s
}

func listingSum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// recall fills a new index from the listing. The caller holds the index's lock.
func (x *index) recall() {
	if x.recalled || x.file == "" {
		return
	}
	x.recalled = true
	if info, err := os.Stat(x.file); err != nil || !info.Mode().IsRegular() || info.Size() > listingMost {
		return
	}
	data, err := os.ReadFile(x.file)
	if err != nil {
		return
	}
	if entries, order, ok := decodeListing(data); ok {
		x.entries, x.order = entries, order
	}
}

// record writes the listing when enough of it is new: what is missing in it costs reading some packs again, no more. That it cannot be written does no harm.
func (x *index) record(read int) {
	x.unrecorded += read
	if x.file == "" || x.unrecorded == 0 || x.unrecorded < min(len(x.order)/50, 100) {
		return
	}
	dir := filepath.Dir(x.file)
	if os.MkdirAll(dir, dirMode) != nil {
		return
	}
	temp, err := os.CreateTemp(dir, "."+filepath.Base(x.file)+".*.tmp")
	if err != nil {
		return
	}
	defer os.Remove(temp.Name()) // gone already when all went well
	_, err = temp.Write(encodeListing(x.order))
	if closeErr := temp.Close(); err != nil || closeErr != nil {
		return
	}
	if os.Rename(temp.Name(), x.file) == nil {
		x.unrecorded = 0
	}
}

const dirMode = 0o700

func encodeListing(order []*entry) []byte {
	data := make([]byte, listingHeader, listingHeader+len(order)*200)
	count := 0
	for _, e := range order {
		s := &e.summary
		if !e.settled || e.damage != nil || len(s.Name)+len(s.Title)+len(s.Brief) > listingText {
			continue
		}
		count++
		for _, text := range [...]string{e.file, string(s.Name), string(s.Title), string(s.Brief)} {
			data = binary.AppendUvarint(data, uint64(len(text)))
			data = append(data, text...)
		}
		data = append(data, byte(s.Status))
		data = binary.AppendUvarint(data, s.Revision)
		for _, t := range [...]time.Time{s.CreatedAt, s.UpdatedAt, s.ExpiresAt} {
			data = binary.AppendVarint(data, t.Unix())
			data = binary.AppendUvarint(data, uint64(t.Nanosecond()))
		}
		data = binary.AppendVarint(data, e.stamp.size)
		data = binary.AppendUvarint(data, e.stamp.inode)
		data = binary.AppendUvarint(data, e.stamp.device)
		data = binary.AppendVarint(data, e.stamp.mtime)
		data = binary.AppendVarint(data, e.stamp.ctime)
	}
	copy(data, listingMagic)
	binary.LittleEndian.PutUint32(data[listingHeader-4:], uint32(count))
	binary.LittleEndian.PutUint32(data[len(listingMagic):], listingSum(data[len(listingMagic)+4:]))
	return data
}

// decodeListing is the opposite of encodeListing. It never believes what does not add up, nor an order that is none.
func decodeListing(data []byte) (entries map[string]*entry, order []*entry, ok bool) {
	if len(data) < listingHeader || string(data[:len(listingMagic)]) != listingMagic ||
		binary.LittleEndian.Uint32(data[len(listingMagic):]) != listingSum(data[len(listingMagic)+4:]) {
		return nil, nil, false
	}
	count := int(binary.LittleEndian.Uint32(data[listingHeader-4:]))
	r := listingReader{data: data[listingHeader:], all: string(data[listingHeader:])}
	if count > len(r.data)/listingLeast {
		return nil, nil, false
	}
	entries = make(map[string]*entry, count)
	list := make([]entry, count)
	order = make([]*entry, 0, count)
	for i := range list {
		e := &list[i]
		e.file, e.settled = r.text(), true
		s := &e.summary
		s.Name, s.Title, s.Brief = pack.Optional(r.text()), pack.Optional(r.text()), pack.Optional(r.text())
		s.Status, s.Revision = pack.Status(r.unsigned()), r.unsigned()
		s.CreatedAt, s.UpdatedAt, s.ExpiresAt = r.time(), r.time(), r.time()
		e.stamp = stamp{size: r.signed(), inode: r.unsigned(), device: r.unsigned(), mtime: r.signed(), ctime: r.signed()}
		id, err := pack.ParseID(e.file[:max(0, len(e.file)-len(packSuffix))])
		if r.bad || err != nil || string(id)+packSuffix != e.file || i > 0 && e.file <= order[i-1].file {
			return nil, nil, false
		}
		s.ID = id
		entries[e.file], order = e, append(order, e)
	}
	return entries, order, len(r.data) == 0
}

// listingReader reads from the front of data; all is what it was at first, so that texts need no copies of their own.
type listingReader struct {
	data []byte
	all  string
	bad  bool
}

func (r *listingReader) passed(n int) {
	if n <= 0 {
		r.bad, n = true, len(r.data)
	}
	r.data = r.data[n:]
}

func (r *listingReader) unsigned() uint64 {
	v, n := binary.Uvarint(r.data)
	r.passed(n)
	return v
}

func (r *listingReader) signed() int64 {
	v, n := binary.Varint(r.data)
	r.passed(n)
	return v
}

func (r *listingReader) text() string {
	n := r.unsigned()
	if n > uint64(len(r.data)) {
		r.bad = true
		return ""
	}
	at := len(r.all) - len(r.data)
	r.data = r.data[n:]
	return r.all[at : at+int(n)]
}

func (r *listingReader) time() time.Time {
	seconds := r.signed()
	return time.Unix(seconds, int64(r.unsigned())).UTC()
}
