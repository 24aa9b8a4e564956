// Package logbuf provides a log buffer that many goroutines write and a test reads.
package logbuf

import (
	"bytes"
	"sync"
)

// Buffer keeps what is written to it. The zero Buffer is empty; all its methods may run concurrently.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it, and never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns all that was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
