package observe

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

func sample() []folder {
	return []folder{
		{"/", []indexEntry{{name: "a", sum: deployment.SumOf(nil), stamp: stamp{1, -2, 3, 4, 5}}}},
		{"/home/user/", []indexEntry{
			{name: "a", sum: deployment.SumOf([]byte("a")), stamp: stamp{1 << 40, 1772359200500000000, 3, 1 << 63, 5}, idle: 4},
			{name: "a-b\xff", sum: deployment.SumOf([]byte("b"))},
		}},
		{"/home/user/a/", []indexEntry{{name: "b", sum: deployment.SumOf([]byte("c")), stamp: stamp{inode: 1}}}},
	}
}

func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	for n := range len(sample()) + 1 {
		got, ok := decode(encode(sample()[:n]))
		require.True(t, ok)
		assert.Equal(t, sample()[:n], got)
	}
}

// sealed is data with a checksum that fits, so that what is behind the checksum is reached.
func sealed(data []byte) []byte {
	out := append([]byte(magic), make([]byte, 4)...)
	out = append(out, data...)
	binary.LittleEndian.PutUint32(out[len(magic):], checksum(data))
	return out
}

func TestDecodeRefusesWhatDoesNotAddUp(t *testing.T) {
	good := encode(sample())[len(magic)+4:]
	_, ok := decode(sealed(good))
	require.True(t, ok)
	change := func(at int, to byte) []byte {
		bad := append([]byte{}, good...)
		bad[at] = to
		return bad
	}
	names := func(names ...string) folder {
		f := folder{path: "d/"}
		for _, name := range names {
			f.entries = append(f.entries, indexEntry{name: name})
		}
		return f
	}
	written := func(folders ...folder) []byte { return encode(folders)[len(magic)+4:] }
	for name, data := range map[string][]byte{
		"more folders than fit":    change(0, 200),
		"fewer folders":            change(0, 2),
		"folders beyond counting":  change(3, 255),
		"more entries":             change(4, 5),
		"fewer entries":            change(4, 3),
		"entries beyond counting":  change(7, 255),
		"more bytes of texts":      change(8, 255),
		"fewer bytes of texts":     change(8, 1),
		"texts beyond memory":      change(11, 255),
		"shares what is not":       change(12, 1),
		"longer than the file":     change(13, 127),
		"folders out of order":     written(folder{"b/", names("x").entries}, folder{"a/", names("x").entries}),
		"a folder twice":           written(names("x"), names("y")),
		"a folder without entries": written(names()),
		"names out of order":       written(names("b", "a")),
		"a name twice":             written(names("b", "b")),
		"no name":                  written(names("")),
		"something left over":      append(append([]byte{}, good...), 0),
	} {
		_, ok := decode(sealed(data))
		assert.False(t, ok, name)
	}
}

// FuzzLoad: no bytes bring the index down, and what is accepted means the same when it is written again.
func FuzzLoad(f *testing.F) {
	f.Add(encode(sample())[len(magic)+4:], true)
	f.Add(encode(nil), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal {
			data = sealed(data)
		}
		folders, ok := decode(data)
		if !ok {
			return
		}
		again, ok := decode(encode(folders))
		require.True(t, ok)
		require.Equal(t, folders, again)
	})
}
