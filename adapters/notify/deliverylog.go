package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/notice"
)

// The files of a home: the sent notifications, and the status of its channels.
const (
	bookFile = "notices.json"
	lockFile = "notices.lock"
	bookSize = 1 << 22
)

// ErrBook is returned if the delivery log cannot be used.
var ErrBook = fault.New(fault.Unavailable, "notify_book_unusable", "the delivery log cannot be read or written")

// book is the file of the delivery log. Several processes may use it.
type book struct{ dir *docfile.Dir }

func openBook(dir string) book { return book{docfile.NewDir(dir)} }

// load returns the delivery log. A damaged one counts as empty: users are notified once too often rather than never.
func (b book) load() (notice.DeliveryLog, error) {
	var kept notice.DeliveryLog
	data, _, err := b.dir.Read(bookFile, bookSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return kept, nil
	case err != nil:
		return kept, ErrBook.WithMessage("%s cannot be read; make it readable, or remove it", b.dir.File(bookFile)).WithCause(err)
	}
	if json.Unmarshal(data, &kept) != nil {
		return notice.DeliveryLog{}, nil
	}
	return kept, nil
}

// change applies f to the delivery log and stores the result, unless f fails or changes nothing. Only one process does so at a time.
func (b book) change(ctx context.Context, f func(*notice.DeliveryLog) error) error {
	lock, err := b.dir.Lock(ctx, lockFile)
	if err != nil {
		return ErrBook.WithMessage("%s cannot be locked", b.dir.File(lockFile)).WithCause(err)
	}
	defer lock.Release() //nolint:errcheck // what was done under it is done
	kept, err := b.load()
	if err != nil {
		return err
	}
	before, err := json.Marshal(kept)
	if err != nil {
		return fault.From(err)
	}
	kept.Told, kept.Channels, kept.Sent, kept.Held = maps.Clone(kept.Told), maps.Clone(kept.Channels), slices.Clone(kept.Sent), slices.Clone(kept.Held)
	if err := f(&kept); err != nil {
		return err
	}
	after, err := json.Marshal(kept)
	if err != nil {
		return fault.From(err)
	}
	if string(before) == string(after) {
		return nil
	}
	if err := b.dir.Write(bookFile, append(after, '\n')); err != nil {
		return ErrBook.WithMessage("%s cannot be written", b.dir.File(bookFile)).WithCause(err)
	}
	return nil
}
