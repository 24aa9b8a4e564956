package observe

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// hasher is what one goroutine needs to hash files, used again and again.
type hasher struct {
	stream hash.Hash
	buffer [64 << 10]byte
}

func (x *Index) hasher() *hasher {
	if h, ok := x.spare.Get().(*hasher); ok {
		return h
	}
	return &hasher{stream: sha256.New()}
}

// file is the sum of an open file, which it closes, and what it was the sum of: the zero Stat when the file changed while it was read.
func (h *hasher) file(f file, path string) (deployment.Sum, stat, error) {
	defer f.Close()
	before, err := f.stat()
	if err != nil {
		return deployment.Sum{}, stat{}, err
	}
	if !before.Mode.IsRegular() {
		return deployment.Sum{}, stat{}, deployment.ErrPath.WithMessage("%s is not a regular file", path).
			WithDetails(deployment.ReasonDetails("destination_not_a_file", "fix_path", "retry_command").AddPath("path", path))
	}
	sum, err := h.content(f, before.Size)
	if err != nil {
		return deployment.Sum{}, stat{}, err
	}
	if after, err := f.stat(); err != nil || after != before {
		before = stat{}
	}
	return sum, before, nil
}

// content is the sum of a file's bytes. Most fit the buffer and need no stream; of those that are as long as the system says, the end is
// not read again.
func (h *hasher) content(r io.Reader, size int64) (deployment.Sum, error) {
	n, ended := 0, false
	for !ended && n < len(h.buffer) {
		m, err := r.Read(h.buffer[n:])
		if n += m; err != nil && !errors.Is(err, io.EOF) {
			return deployment.Sum{}, err
		}
		ended = err != nil || int64(n) == size && n < len(h.buffer)
	}
	if ended {
		return deployment.SumOf(h.buffer[:n]), nil
	}
	h.stream.Reset()
	for {
		h.stream.Write(h.buffer[:n])
		var err error
		n, err = r.Read(h.buffer[:])
		if errors.Is(err, io.EOF) {
			var sum deployment.Sum
			h.stream.Sum(sum[:0])
			return sum, nil
		}
		if err != nil {
			return deployment.Sum{}, err
		}
	}
}
