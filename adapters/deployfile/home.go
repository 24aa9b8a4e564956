package deployfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/deployment"
)

// The files below <home>/state.
const (
	lockName         = "deploy.lock"
	journalName      = "journal.json"
	originalsName    = "originals.json"
	rootsName        = observe.RootsName
	repositoriesName = "repositories.json"
	directoriesName  = "directories.json"
	snapshotsName    = "snapshots"
	vaultName        = "vault"

	recordSuffix = ".json"
	maxDocument  = 1 << 30 // bytes: a record of a million files
)

// home is the state of one home.
type home struct {
	Path  string
	Files *docfile.Dir // <home>/state
	Vault *Vault
}

// OpenHome is the state of the home at that path, which need not exist. It reads nothing yet.
func OpenHome(path string) (*home, error) {
	if !filepath.IsAbs(path) {
		return nil, deployment.ErrPath.WithMessage("the home %q is not an absolute path", path)
	}
	state := filepath.Join(path, "state")
	return &home{Path: path, Files: docfile.NewDir(state), Vault: NewVault(filepath.Join(state, vaultName))}, nil
}

// Close gives up what was opened for reading.
func (h *home) Close() { _ = h.Vault.Close() } // it was only read

// Lock keeps every other operation on the home away.
func (h *home) Lock(ctx context.Context) (*docfile.Lock, error) {
	held, err := h.Files.Lock(ctx, lockName)
	return held, observe.FileFault(err, h.Files.File(lockName))
}

// Document is a small file of the home; nil when it is not there.
func (h *home) Document(name string) ([]byte, error) {
	data, _, err := h.Files.Read(name, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, observe.FileFault(err, h.Files.File(name))
}

// Journal is the operation under way, or nil.
func (h *home) Journal() (*Journal, error) {
	data, err := h.Document(journalName)
	if data == nil || err != nil {
		return nil, err
	}
	j, err := DecodeJournal(data)
	if err != nil {
		return nil, deployment.ErrSnapshotDamaged.WithMessage("an operation was interrupted, and its journal %s cannot be used; inspect it, then move it away",
			h.Files.File(journalName)).WithCause(err)
	}
	return &j, nil
}

// SnapshotFileName is the name of a record among Files.
func SnapshotFileName(id string) string { return snapshotsName + "/" + id + recordSuffix }

// IDs are the identifiers of the snapshots that have a record, oldest first.
func (h *home) IDs() ([]string, error) {
	entries, err := os.ReadDir(h.Files.File(snapshotsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, observe.FileFault(err, h.Files.File(snapshotsName))
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), recordSuffix); ok && ValidID(id) && !e.IsDir() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, CompareIDs)
	return ids, nil
}

// Next is an identifier that is greater than every other of the home: the time, or one more than the last.
func (h *home) Next(now int64) (string, error) {
	ids, err := h.IDs()
	if err != nil {
		return "", err
	}
	operations, err := h.Vault.Operations()
	if err != nil {
		return "", observe.FileFault(err, h.Vault.Dir())
	}
	for _, id := range append(ids, operations...) {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && n >= now {
			now = n + 1
		}
	}
	return strconv.FormatInt(now, 10), nil
}

// Idle fails while an operation is unfinished.
func (h *home) Idle() error {
	j, err := h.Journal()
	if j == nil || err != nil {
		return err
	}
	return deployment.ErrInterrupted.WithMessage("an earlier operation (%s %s, started %s) was interrupted; finish it with resume, or revert it with undo",
		j.Kind, j.ID, j.CreatedAt.Format("2006-01-02 15:04:05Z07:00")).
		WithDetails(deployment.FieldDetails("snapshot_id", j.ID).Add("kind", string(j.Kind)).Add("started_at", j.CreatedAt))
}

// Umask is which permission bits new files lack, found out by making one: asking the system would change it for a moment.
func (h *home) Umask() (fs.FileMode, error) {
	path := h.Files.File(".umask.tmp")
	if err := os.Remove(path); err != nil && !observe.IsAbsent(err) {
		return 0, observe.FileFault(err, path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.ModePerm)
	if err != nil {
		return 0, observe.FileFault(err, path)
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close(), os.Remove(path)); err != nil {
		return 0, observe.FileFault(err, path)
	}
	return fs.ModePerm &^ info.Mode().Perm(), nil
}

// Encode is the record in its form on disk, with room for that many bytes behind it.
func (h *home) Encode(s deployment.Snapshot, room int) encoded {
	return EncodeSnapshot(SnapshotRecord{Snapshot: s, Room: room, BackupRoot: h.Vault.Dir(), Where: func(sum deployment.Sum) string {
		where, err := h.Vault.Where(sum)
		if err != nil {
			return "" // it is for people only
		}
		return where
	}})
}

// Sweep removes what writers that died left in the directories that are written under the lock alone.
func (h *home) Sweep() error {
	err := h.Vault.Sweep()
	for _, sub := range []string{".", snapshotsName} {
		age := time.Duration(0)
		if sub == "." {
			age = time.Hour // others write there, too
		}
		if _, swept := h.Files.Sweep(sub, age); swept != nil && !observe.IsAbsent(swept) {
			err = errors.Join(err, swept)
		}
	}
	return observe.FileFault(err, h.Files.Path())
}
