package statindex

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/deployment"
)

func sample() []entry {
	return []entry{
		{path: "/", sum: deployment.SumOf(nil), stamp: stamp{1, -2, 3, 4, 5}},
		{path: "/home/user/a", sum: deployment.SumOf([]byte("a")), stamp: stamp{1 << 40, 1772359200500000000, 3, 1 << 63, 5}, idle: 4},
		{path: "/home/user/a-b/\xff", sum: deployment.SumOf([]byte("b"))},
		{path: "/home/user/a/b", sum: deployment.SumOf([]byte("c")), stamp: stamp{inode: 1}},
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
	for name, data := range map[string][]byte{
		"more entries than fit":   change(0, 200),
		"fewer entries":           change(0, 3),
		"entries beyond counting": change(3, 255),
		"more bytes of paths":     change(4, 255),
		"paths beyond memory":     change(7, 255),
		"shares what is not":      change(8, 1),
		"longer than the file":    change(9, 127),
		"paths out of order":      encode([]entry{{path: "b"}, {path: "a"}})[len(magic)+4:],
		"a path twice":            encode([]entry{{path: "b"}, {path: "b"}})[len(magic)+4:],
		"no path":                 encode([]entry{{path: ""}})[len(magic)+4:],
		"something left over":     append(append([]byte{}, good...), 0),
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
		entries, ok := decode(data)
		if !ok {
			return
		}
		again, ok := decode(encode(entries))
		require.True(t, ok)
		require.Equal(t, entries, again)
	})
}
