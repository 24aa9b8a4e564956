package deployfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/sorting"
)

// The files below <home>/state.
const (
	lockName        = "deploy.lock"
	JournalName     = "journal.json"
	OriginalsName   = "originals.json"
	RootsName       = "roots.json"
	DirectoriesName = "directories.json"
	snapshotsName   = "snapshots"
	vaultName       = "vault"

	recordSuffix = ".json"
	maxDocument  = 1 << 30 // bytes: a record of a million files
)

// Home is the state of one home.
type Home struct {
	Path  string
	Files *docfile.Dir // <home>/state
	Vault *Vault
}

// Open is the state of the home at that path, which need not exist. It reads nothing yet.
func Open(path string) (*Home, error) {
	if !filepath.IsAbs(path) {
		return nil, deployment.ErrPath.Sayf("the home %q is no absolute path", path)
	}
	state := filepath.Join(path, "state")
	return &Home{Path: path, Files: docfile.At(state), Vault: At(filepath.Join(state, vaultName))}, nil
}

// Close gives up what was opened for reading.
func (h *Home) Close() { _ = h.Vault.Close() } // it was only read

// Lock keeps every other operation on the home away.
func (h *Home) Lock(ctx context.Context) (*docfile.Lock, error) {
	held, err := h.Files.Lock(ctx, lockName)
	return held, observe.Fault(err, h.Files.File(lockName))
}

// Document is a small file of the home; nil when it is not there.
func (h *Home) Document(name string) ([]byte, error) {
	data, _, err := h.Files.Read(name, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, observe.Fault(err, h.Files.File(name))
}

// Journal is the operation under way, or nil.
func (h *Home) Journal() (*Journal, error) {
	data, err := h.Document(JournalName)
	if data == nil || err != nil {
		return nil, err
	}
	j, err := DecodeJournal(data)
	if err != nil {
		return nil, deployment.ErrSnapshotDamaged.Sayf("an operation was interrupted, and its journal %s cannot be used; look at it, then move it away",
			h.Files.File(JournalName)).Because(err)
	}
	return &j, nil
}

// RecordName is the name of a record among Files.
func RecordName(id string) string { return snapshotsName + "/" + id + recordSuffix }

// IDs are the identifiers of the snapshots that have a record, oldest first.
func (h *Home) IDs() ([]string, error) {
	entries, err := os.ReadDir(h.Files.File(snapshotsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, observe.Fault(err, h.Files.File(snapshotsName))
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), recordSuffix); ok && ValidID(id) && !e.IsDir() {
			ids = append(ids, id)
		}
	}
	sorting.By(ids, Compare)
	return ids, nil
}

// Next is an identifier that is greater than every other of the home: the time, or one more than the last.
func (h *Home) Next(now int64) (string, error) {
	ids, err := h.IDs()
	if err != nil {
		return "", err
	}
	operations, err := h.Vault.Operations()
	if err != nil {
		return "", observe.Fault(err, h.Vault.Dir())
	}
	for _, id := range append(ids, operations...) {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && n >= now {
			now = n + 1
		}
	}
	return strconv.FormatInt(now, 10), nil
}

// Idle fails while an operation is unfinished.
func (h *Home) Idle() error {
	j, err := h.Journal()
	if j == nil || err != nil {
		return err
	}
	return deployment.ErrInterrupted.Sayf("an earlier operation (%s %s, begun %s) was interrupted; finish it with resume, or take it back with undo",
		j.Kind, j.ID, j.CreatedAt.Format("2006-01-02 15:04:05Z07:00")).
		With(deployment.Fields("snapshot_id", j.ID).Add("kind", string(j.Kind)).Add("started_at", j.CreatedAt))
}

// Umask is which permission bits new files lack, found out by making one: asking the system would change it for a moment.
func (h *Home) Umask() (fs.FileMode, error) {
	path := h.Files.File(".umask.tmp")
	if err := os.Remove(path); err != nil && !observe.Absent(err) {
		return 0, observe.Fault(err, path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.ModePerm)
	if err != nil {
		return 0, observe.Fault(err, path)
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close(), os.Remove(path)); err != nil {
		return 0, observe.Fault(err, path)
	}
	return fs.ModePerm &^ info.Mode().Perm(), nil
}

// Encode is the record in its form on disk.
func (h *Home) Encode(s deployment.Snapshot) Encoded {
	return Encode(Record{Snapshot: s, BackupRoot: h.Vault.Dir(), Where: func(sum deployment.Sum) string {
		where, err := h.Vault.Where(sum)
		if err != nil {
			return "" // it is for people only
		}
		return where
	}})
}

// Sweep removes what writers that died left in the directories that are written under the lock alone.
func (h *Home) Sweep() error {
	err := h.Vault.Sweep()
	for _, sub := range []string{".", snapshotsName} {
		age := time.Duration(0)
		if sub == "." {
			age = time.Hour // others write there, too
		}
		if _, swept := h.Files.Sweep(sub, age); swept != nil && !observe.Absent(swept) {
			err = errors.Join(err, swept)
		}
	}
	return observe.Fault(err, h.Files.Path())
}
