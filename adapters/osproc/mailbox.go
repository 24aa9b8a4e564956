package osproc

import (
	"bufio"
	"os"
)

// endLine is the line that ends listening; only its owner posts it.
const endLine = "hush"

// Mailbox is a named pipe that only the process that created it reads. Others can tell whether it is still read; it is not after that process has ended.
type Mailbox struct{ file *os.File }

// OpenMailbox makes a mailbox where nothing is yet.
func OpenMailbox(path string) (*Mailbox, error) {
	if err := mkfifo(path); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0) // for writing as well, so that it does not end with those who write
	if err != nil {
		return nil, err
	}
	return &Mailbox{file}, nil
}

// Listen calls heard with each line that is posted, until StopListening.
func (b *Mailbox) Listen(heard func(line string)) {
	for lines := bufio.NewScanner(b.file); lines.Scan() && lines.Text() != endLine; {
		heard(lines.Text())
	}
}

// StopListening makes Listen return, also a later call of it.
func (b *Mailbox) StopListening() { _, _ = b.file.WriteString(endLine + "\n") }

// Close ends the box. Listen must have returned.
func (b *Mailbox) Close() { _ = b.file.Close() }
