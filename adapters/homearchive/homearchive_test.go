package homearchive_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/anchoring"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/homearchive"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// tree returns every file of a directory with its content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(data)
		return err
	}))
	return all
}

// TestABackupComesBack: with what is state and nothing else, readable for its owner alone; what was there is set aside; what may let something happen does
// not come back, and the audit tells of it, goes on and fits its anchors.
func TestABackupComesBack(t *testing.T) {
	t.Parallel()
	home := lived(t, 5)
	for _, name := range []string{"serve.json", "serve.lock", "cache/x", "processes/p/state.json", "owners/o.json", "signals/s", "countersign.db.schema-9-20260101T000000.000Z", "replaced-20260101T000000.000Z/countersign.db", "keys/.x.tmp"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(name), 0o600))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(home, "more/below"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "more/below/state.json"), []byte("{}"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(home, "link")))
	a := archive(home)
	holds, err := a.Holds(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"link: it is not a regular file"}, holds.LeftOut)
	file := backup(t, home)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	assert.Len(t, tree(t, filepath.Dir(file)), 1, "nothing else is left beside it")
	names := []string{}
	for name := range unpacked(t, file) {
		names = append(names, name)
	}
	slices.Sort(names)
	assert.Equal(t, []string{"anchors.json", "config.yaml", "countersign-backup.json", "countersign.db", "keys/audit.head", "keys/audit.key", "keys/secret.key", "more/below/state.json"}, names)

	with(t, home, func(s *sqlitestore.Store, log *anchoring.AnchoredLog) {
		require.NoError(t, log.Append(t.Context(), porttest.Event("later"), porttest.Event("latest")))
		_, err := log.Add(t.Context(), "terminal", audit.Anchor{Kind: audit.AnchorFile, Where: filepath.Join(filepath.Dir(home), "more.jsonl")})
		require.NoError(t, err)
	})
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte("confirm_ttl: 9m\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, "new.json"), []byte("new"), 0o600))
	before := tree(t, home)

	v, err := a.Look(t.Context(), file, quiet)
	require.NoError(t, err)
	assert.EqualValues(t, 6, v.Records)
	assert.Equal(t, ports.Withdrawn{Requests: 1}, v.Withdrawn)
	assert.Equal(t, "confirm_ttl: 3m\n", v.Config)
	assert.Equal(t, []string{"anchors.json"}, v.Keeps)
	assert.Equal(t, []string{"config.yaml", "countersign.db", "keys", "more", "new.json", "notices.json"}, v.Replaces)
	assert.Equal(t, before, tree(t, home), "looking changes nothing")

	r, err := restore(t.Context(), a, file)
	require.NoError(t, err)
	after := tree(t, home)
	assert.Equal(t, "confirm_ttl: 3m\n", after["config.yaml"])
	assert.NotContains(t, after, "new.json")
	assert.NotContains(t, after, "anchors.state.json")
	for _, stays := range []string{"anchors.json", "cache/x", "processes/p/state.json", "countersign.db.schema-9-20260101T000000.000Z", "replaced-20260101T000000.000Z/countersign.db"} {
		assert.Equal(t, before[stays], after[stays], stays)
	}
	for _, gone := range []string{"config.yaml", "new.json", "keys/audit.key", "keys/secret.key"} {
		assert.Equal(t, before[gone], tree(t, r.Aside)[gone], gone)
	}
	for name := range after {
		assert.False(t, strings.HasPrefix(name, "restore."), name)
	}
	assert.EqualValues(t, 7, whole(t, home))
	with(t, home, func(s *sqlitestore.Store, log *anchoring.AnchoredLog) {
		waiting, err := sqlitestore.NewLedger(s).Pending(t.Context(), ports.PendingFilter{}, porttestTime())
		require.NoError(t, err)
		assert.Empty(t, waiting)
		last, err := s.Tail(t.Context(), 1)
		require.NoError(t, err)
		var told audit.Restored
		require.NoError(t, json.Unmarshal(last[0].Event.Args, &told))
		assert.Equal(t, []any{audit.RestoreTool, "call_1", v.Sum, int64(10), filepath.Base(r.Aside)}, []any{last[0].Event.Tool, last[0].Event.ApprovedBy, told.Backup, told.Replaced, told.Aside})
		assert.Len(t, told.Anchors, 2, "none is dropped")
		require.NoError(t, log.Append(t.Context(), porttest.Event("on")))
	})
	assert.EqualValues(t, 8, whole(t, home))
	with(t, r.Aside, func(s *sqlitestore.Store, _ *anchoring.AnchoredLog) {
		last, err := s.Tail(t.Context(), 100)
		require.NoError(t, err)
		assert.Len(t, last, 10, "what was done since is there, and that this was begun")
	})
}

// TestABackupIsOfOneMomentWhileOthersWrite: whatever is written meanwhile, each backup is whole in itself, keys and database alike.
func TestABackupIsOfOneMomentWhileOthersWrite(t *testing.T) {
	t.Parallel()
	home := lived(t, 3)
	cmd, out := process(t, "append forever", home, "")
	for range 3 {
		for range 5 {
			require.True(t, out.Scan())
		}
		file := backup(t, home)
		other := filepath.Join(t.TempDir(), "other")
		_, err := archive(other).Look(t.Context(), file, quiet)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(other, 0o700))
		for name, data := range unpacked(t, file) {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(other, name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(other, name), data, 0o600))
		}
		store := sqlitestore.Open(filepath.Join(other, "countersign.db"))
		g, _ := porttest.Grant(1)
		waiting, err := sqlitestore.NewLedger(store).Pending(t.Context(), ports.PendingFilter{}, g.IssuedAt)
		require.NoError(t, err)
		require.NotEmpty(t, waiting)
		for _, w := range waiting {
			require.NotEmpty(t, w.Args, "what is sealed opens with the keys beside it")
		}
		n := int64(0)
		last := audit.Record{}
		records, err := store.Records(t.Context(), 0, 1<<20)
		require.NoError(t, err)
		n, err = audit.Verify(last, func(yield func(audit.Record, error) bool) {
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		})
		require.NoError(t, err)
		end, err := store.End(t.Context())
		require.NoError(t, err)
		assert.Equal(t, end.Seq, n)
		head, err := docfile.NewSigner(filepath.Join(other, "keys"), other, "m1", nil).Head()
		require.NoError(t, err)
		assert.LessOrEqual(t, head.Seq, n)
		require.NoError(t, store.Close())
	}
	require.NoError(t, cmd.Process.Kill())
}

// TestARestoreKilledAnywhere: at every step a process is killed, and the next start finds the home as it was, or as it was to be: never between.
func TestARestoreKilledAnywhere(t *testing.T) {
	t.Parallel()
	home := lived(t, 3)
	file := backup(t, home)
	_, out := process(t, "restore", home, file+"|")
	var steps []string
	for out.Scan() {
		steps = append(steps, out.Text())
	}
	require.Greater(t, len(steps), 10, "%q", steps)
	require.Equal(t, "moved", steps[len(steps)-1])
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			home := lived(t, 3)
			file := backup(t, home)
			with(t, home, func(_ *sqlitestore.Store, log *anchoring.AnchoredLog) {
				require.NoError(t, log.Append(t.Context(), porttest.Event("later")))
			})
			require.NoError(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte("confirm_ttl: 9m\n"), 0o600))
			cmd, out := process(t, "restore", home, file+"|"+step)
			said := ""
			for out.Scan() {
				said = out.Text()
			}
			require.Equal(t, step, said)
			require.Error(t, cmd.Wait())

			begun := step != "seized"
			with(t, home, func(s *sqlitestore.Store, _ *anchoring.AnchoredLog) {
				_, err := s.Tail(t.Context(), 1)
				assert.Equal(t, begun, err != nil, "nobody uses what is half there")
			})
			require.NoError(t, archive(home).Resume(t.Context()))
			require.NoError(t, archive(home).Resume(t.Context()), "and again, which does nothing")
			text, err := os.ReadFile(filepath.Join(home, "config.yaml"))
			require.NoError(t, err)
			entries, err := filepath.Glob(filepath.Join(home, "restore.*"))
			require.NoError(t, err)
			assert.Equal(t, []string{filepath.Join(home, "restore.lock")}, entries)
			if !begun {
				assert.Equal(t, "confirm_ttl: 9m\n", string(text))
				assert.EqualValues(t, 6, whole(t, home))
				return
			}
			assert.Equal(t, "confirm_ttl: 3m\n", string(text))
			assert.EqualValues(t, 5, whole(t, home), "four that came back, and the one that tells of it")
			aside, err := filepath.Glob(filepath.Join(home, "replaced-*"))
			require.NoError(t, err)
			require.Len(t, aside, 1)
			was := tree(t, aside[0])
			assert.Equal(t, "confirm_ttl: 9m\n", was["config.yaml"])
			assert.Contains(t, was, "keys/audit.key")
			with(t, aside[0], func(s *sqlitestore.Store, _ *anchoring.AnchoredLog) {
				last, err := s.Tail(t.Context(), 100)
				require.NoError(t, err)
				assert.Len(t, last, 6)
			})
		})
	}
}

// TestAHomeInUseIsNotReplaced: neither while a server holds it, nor while another process has its database open; nothing is changed, and nothing is left.
func TestAHomeInUseIsNotReplaced(t *testing.T) {
	t.Parallel()
	home := lived(t, 3)
	file := backup(t, home)
	lock, err := docfile.NewDir(home).TryLock("serve.lock")
	require.NoError(t, err)
	require.ErrorIs(t, homearchive.InUse(t.Context(), home), ports.ErrHomeInUse)
	_, err = restore(t.Context(), archive(home), file)
	require.ErrorIs(t, err, ports.ErrHomeInUse)
	require.NoError(t, lock.Release())
	require.NoError(t, homearchive.InUse(t.Context(), home))

	before := tree(t, home)
	cmd, out := process(t, "open", home, "")
	require.True(t, out.Scan())
	require.Equal(t, "open true", out.Text())
	require.ErrorIs(t, homearchive.InUse(t.Context(), home), ports.ErrHomeInUse)
	_, err = restore(t.Context(), archive(home), file)
	require.ErrorIs(t, err, ports.ErrHomeInUse)
	assert.ErrorContains(t, err, "was not restored and not changed: another process has the database")
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.EqualValues(t, 5, whole(t, home), "one tells that it was begun")
	now := tree(t, home)
	for name := range before {
		assert.Contains(t, now, name)
	}
	assert.NoDirExists(t, filepath.Join(home, "restore.staged"))
	_, err = restore(t.Context(), archive(home), file)
	require.NoError(t, err, "a process that was killed is in nobody's way")
}

// TestAFullDisk: no backup and no restore, nothing left of either, and the home as it was.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	home := lived(t, 3)
	file := backup(t, home)
	target := filepath.Join(t.TempDir(), "full.tar")
	before := tree(t, home)
	for what, arg := range map[string]string{"backup": target, "restore": file} {
		_, out := process(t, "full disk", home, what+"|"+arg)
		var said []string
		for out.Scan() {
			said = append(said, out.Text())
		}
		require.Len(t, said, 2, "%q", said)
		assert.Contains(t, []string{"backup_failed", "store_unavailable", "restore_failed"}, said[0], said[1])
	}
	assert.Empty(t, tree(t, filepath.Dir(target)))
	assert.Equal(t, before, tree(t, home))
	assert.EqualValues(t, 4, whole(t, home))
}

// unpacked returns what is in a backup.
func unpacked(t *testing.T, file string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	all := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		all[h.Name] = body
	}
}

// entry is one of a backup that somebody made by hand.
type entry struct {
	tar.Header
	body string
}

// TestWhatIsNoBackupIsRefused: whatever leads out of the home, is no plain file, is not as its list says, was cut off, or was made by a newer program. The
// home stays as it is.
func TestWhatIsNoBackupIsRefused(t *testing.T) {
	t.Parallel()
	home := lived(t, 3)
	good := backup(t, home)
	files := unpacked(t, good)
	var list ports.Backup
	require.NoError(t, json.Unmarshal(files["countersign-backup.json"], &list))
	file := func(name, body string) entry {
		return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(body)), Mode: 0o600}, body}
	}
	listed := func(change func(*ports.Backup), more ...entry) []entry {
		b := list
		b.Files = slices.Clone(list.Files)
		all := []entry{}
		for _, f := range b.Files {
			all = append(all, file(f.Name, string(files[f.Name])))
		}
		for _, e := range more {
			all = append(all, e)
			b.Files = append(b.Files, ports.BackupFile{Name: e.Name, Size: e.Size, Sum: sum(e.body)})
		}
		change(&b)
		doc, err := json.Marshal(b)
		require.NoError(t, err)
		return append(all, file("countersign-backup.json", string(doc)))
	}
	same := func(*ports.Backup) {}
	cases := map[string][]entry{
		"leads out":         listed(same, file("../out", "x")),
		"leads out below":   listed(same, file("keys/../../out", "x")),
		"absolute":          listed(same, file("/etc/out", "x")),
		"a link":            listed(same, entry{tar.Header{Typeflag: tar.TypeSymlink, Name: "keys/link", Linkname: "/etc"}, ""}),
		"a hard link":       listed(same, entry{tar.Header{Typeflag: tar.TypeLink, Name: "more", Linkname: "config.yaml"}, ""}),
		"a directory":       listed(same, entry{tar.Header{Typeflag: tar.TypeDir, Name: "more/"}, ""}),
		"a pipe":            listed(same, entry{tar.Header{Typeflag: tar.TypeFifo, Name: "more"}, ""}),
		"the note":          listed(same, file("restore.json", "{}")),
		"of what runs":      listed(same, file("processes/p", "x")),
		"a lock":            listed(same, file("serve.lock", "x")),
		"a log of the db":   listed(same, file("countersign.db-wal", "x")),
		"below the db":      listed(same, file("countersign.db/x", "x")),
		"a log elsewhere":   listed(same, file("Countersign.DB-wal", "x")),
		"twice":             listed(same, file("KEYS/audit.key", "x")),
		"not in its list":   listed(func(b *ports.Backup) { b.Files = b.Files[:len(b.Files)-1] }),
		"not in it":         listed(func(b *ports.Backup) { b.Files = append(b.Files, ports.BackupFile{Name: "more"}) }),
		"another sum":       listed(func(b *ports.Backup) { b.Files[0].Sum[0]++ }),
		"another size":      listed(func(b *ports.Backup) { b.Files[0].Size++ }),
		"no format":         listed(func(b *ports.Backup) { b.Format = 0 }),
		"no list":           {file("countersign.db", "x")},
		"a list that is no": {file("countersign-backup.json", "[]")},
		"nothing":           {},
	}
	newer := map[string][]entry{
		"newer format": listed(func(b *ports.Backup) { b.Format++ }),
		"newer schema": listed(func(b *ports.Backup) { b.Schema++ }),
	}
	for name, entries := range cases {
		refused(t, home, name, packed(t, entries), homearchive.ErrBackup)
	}
	for name, entries := range newer {
		refused(t, home, name, packed(t, entries), homearchive.ErrNewer)
	}
	data, err := os.ReadFile(good)
	require.NoError(t, err)
	for name, data := range map[string][]byte{"cut off": data[:len(data)/2], "a byte changed": flipped(data), "no tar file": []byte("no tar file"), "empty": nil} {
		path := filepath.Join(t.TempDir(), "b.tar")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		refused(t, home, name, path, homearchive.ErrBackup)
	}
	refused(t, home, "a directory", t.TempDir(), homearchive.ErrBackup)
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	refused(t, home, "a pipe that nobody writes to", pipe, homearchive.ErrBackup)
	refused(t, home, "holes", holes(t), homearchive.ErrBackup)
	_, err = archive(home).Look(t.Context(), good, quiet)
	require.NoError(t, err, "and the one that they were made of is one")
}

func sum(body string) canon.Hash { return canon.Hash(sha(body)) }

func flipped(data []byte) []byte {
	data = bytes.Clone(data)
	data[len(data)/3] ^= 1
	return data
}

// holes returns a backup of three kilobytes whose database is a hole of a megabyte and a half.
func holes(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	block := func(data string) { out.WriteString(data + strings.Repeat("\x00", -len(data)&511)) }
	head := func(name string, size int, kind byte) {
		var one bytes.Buffer
		require.NoError(t, tar.NewWriter(&one).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(size), Mode: 0o600, Format: tar.FormatUSTAR}))
		b := one.Bytes()[:512]
		b[156] = kind
		copy(b[148:156], "        ")
		sum := 0
		for _, c := range b {
			sum += int(c)
		}
		copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
		out.Write(b)
	}
	said := ""
	for _, pair := range []string{"major=1", "minor=0", "name=countersign.db", "realsize=1500000"} {
		line := " GNU.sparse." + pair + "\n"
		said += fmt.Sprint(len(line)+2) + line
	}
	head("pax", len(said), tar.TypeXHeader)
	block(said)
	spans := "1\n1500000\n0\n"
	head("sparse", 512, tar.TypeReg)
	block(spans)
	out.Write(make([]byte, 1024))
	read := tar.NewReader(bytes.NewReader(out.Bytes()))
	h, err := read.Next()
	require.NoError(t, err)
	require.Equal(t, []any{"countersign.db", int64(1500000)}, []any{h.Name, h.Size})
	file := filepath.Join(t.TempDir(), "holes.tar")
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o600))
	_, err = archive(filepath.Join(t.TempDir(), "none")).Look(t.Context(), file, quiet)
	require.ErrorContains(t, err, "is larger than the whole file")
	return file
}

func packed(t *testing.T, entries []entry) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&e.Header))
		_, err := io.WriteString(w, e.body)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "b.tar")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

func refused(t *testing.T, home, name, file string, want *fault.Error) {
	t.Helper()
	before := tree(t, home)
	_, err := archive(home).Look(t.Context(), file, quiet)
	require.ErrorIs(t, err, want, name)
	assert.Equal(t, before, tree(t, home), name)
}

// TestAnotherBackupThanTheApprovedOne: what is exchanged after the user has seen it is not restored.
func TestAnotherBackupThanTheApprovedOne(t *testing.T) {
	t.Parallel()
	home := lived(t, 3)
	file := backup(t, home)
	a := archive(home)
	v, err := a.Look(t.Context(), file, quiet)
	require.NoError(t, err)
	with(t, home, func(_ *sqlitestore.Store, log *anchoring.AnchoredLog) {
		require.NoError(t, log.Append(t.Context(), porttest.Event("later")))
	})
	_, err = a.Make(t.Context(), file, true, quiet)
	require.NoError(t, err)
	_, err = a.Stage(t.Context(), v, "call_1", quiet)
	require.ErrorIs(t, err, homearchive.ErrBackup)
	require.NoError(t, a.Finish(t.Context()))
	assert.EqualValues(t, 5, whole(t, home))
	assert.NoDirExists(t, filepath.Join(home, "restore.staged"))
}

// TestAForgedRestoreIsNotFinished: what the audit of the home does not have as begun moves nothing, whatever a note says and has ready; neither does one that was
// changed after it was written.
func TestAForgedRestoreIsNotFinished(t *testing.T) {
	t.Parallel()
	files := func(home string) map[string]string {
		all := tree(t, home)
		for _, name := range []string{"countersign.db", "countersign.db-wal", "countersign.db-shm"} { // whose log is folded into it
			delete(all, name)
		}
		return all
	}
	for name, forge := range map[string]func(note map[string]any){
		"all of it":                   func(n map[string]any) { n["id"] = "restore_2" },
		"who said so":                 func(n map[string]any) { n["by"] = "terminal" },
		"where what is replaced goes": func(n map[string]any) { n["aside"] = "cache" },
		"what is moved":               func(n map[string]any) { n["replaces"] = []string{"anchors.json"} },
		"that it had told of itself":  func(n map[string]any) { n["moving"] = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := lived(t, 3)
			file := backup(t, home)
			cmd, out := process(t, "restore", home, file+"|noted")
			for out.Scan() { //nolint:revive // until it is dead
			}
			require.Error(t, cmd.Wait())
			at := filepath.Join(home, "restore.json")
			var note map[string]any
			text, err := os.ReadFile(at)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &note))
			forge(note)
			forged, err := json.Marshal(note)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(at, forged, 0o600))
			before := files(home)
			for range 2 {
				require.ErrorIs(t, archive(home).Resume(t.Context()), homearchive.ErrForged)
			}
			assert.Equal(t, before, files(home))

			require.NoError(t, os.WriteFile(at, text, 0o600))
			require.NoError(t, archive(home).Resume(t.Context()), "the one that was begun is finished")
			assert.EqualValues(t, 5, whole(t, home))
		})
	}
}

// TestABackupReplacesNothing: unless it is told to; no link is followed, and it never lies in the home.
func TestABackupReplacesNothing(t *testing.T) {
	t.Parallel()
	home := lived(t, 1)
	file := backup(t, home)
	a := archive(home)
	_, err := a.Make(t.Context(), file, false, quiet)
	require.ErrorIs(t, err, homearchive.ErrExists)
	_, err = a.Make(t.Context(), file, true, quiet)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link.tar")
	require.NoError(t, os.Symlink(file, link))
	inside := filepath.Join(t.TempDir(), "inside")
	require.NoError(t, os.Symlink(home, inside))
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Symlink(filepath.Dir(file), elsewhere))
	seen, _, err := a.Target(filepath.Join(elsewhere, "c.tar"), false)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(filepath.Dir(file), "c.tar"), seen, "whoever is asked sees where it is written")
	_, err = a.Make(t.Context(), filepath.Join(elsewhere, "c.tar"), false, quiet)
	require.ErrorIs(t, err, homearchive.ErrTarget, "a directory that became a link since")
	for _, path := range []string{link, filepath.Join(home, "b.tar"), filepath.Join(home, "keys", "b.tar"), filepath.Join(inside, "b.tar"), filepath.Join(home, "none", "b.tar"), home, ""} {
		for _, over := range []bool{false, true} {
			_, _, err := a.Target(path, over)
			require.ErrorIs(t, err, homearchive.ErrTarget, path)
		}
	}
}
