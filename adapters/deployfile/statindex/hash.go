package statindex

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"syscall"

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

// file is the sum of the file at path, and what it was the sum of: the zero Stat when the file changed while it was read.
func (h *hasher) file(path string) (deployment.Sum, Stat, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return deployment.Sum{}, Stat{}, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return deployment.Sum{}, Stat{}, err
	}
	if !before.Mode().IsRegular() {
		return deployment.Sum{}, Stat{}, deployment.ErrPath.Sayf("%s is no regular file", path).
			With(deployment.Reason("destination_not_a_file", "fix_path", "retry_command").AddPath("path", path))
	}
	sum, err := h.content(f)
	if err != nil {
		return deployment.Sum{}, Stat{}, err
	}
	st := StatOf(before)
	if after, err := f.Stat(); err != nil || StatOf(after) != st {
		st = Stat{}
	}
	return sum, st, nil
}

// content is the sum of what is left to read. Most files fit the buffer and need no stream.
func (h *hasher) content(r io.Reader) (deployment.Sum, error) {
	n, err := io.ReadFull(r, h.buffer[:])
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return deployment.SumOf(h.buffer[:n]), nil
	case err != nil:
		return deployment.Sum{}, err
	}
	h.stream.Reset()
	for {
		h.stream.Write(h.buffer[:n])
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
