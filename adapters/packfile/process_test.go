package packfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
)

const (
	rounds = 100
	nobody = 65534
)

// now is a real clock, moved by its value.
type now time.Duration

func (n now) Now() time.Time { return time.Now().UTC().Add(time.Duration(n)) }

// TestMain lets the test binary be the other processes that the tests need. They are told their role in the environment and
// print what went wrong.
func TestMain(m *testing.M) {
	if root := os.Getenv("SRCFILE_CHILD"); root != "" {
		readAsNobody(root)
		return
	}
	role := os.Getenv("PACKFILE_CHILD")
	if role == "" {
		os.Exit(m.Run())
	}
	roles := map[string]func(root, arg string) error{"race": race, "edit": edit, "full": fill, "readonly": readonly}
	if err := roles[role](os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, role, os.Args[2]+":", err)
		os.Exit(1)
	}
}

func child(role, root, arg string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], root, arg)
	cmd.Env = append(os.Environ(), "PACKFILE_CHILD="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

func id(prefix string, n int) pack.ID {
	return pack.ID("pk_" + prefix + strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(fmt.Sprintf("%05d", n)))
}

// race creates, updates and purges, against whoever else does. arg is one letter that makes its ids its own.
func race(root, arg string) error {
	ctx := context.Background()
	for n := range rounds {
		s := packfile.New(root, now(0)).Remember(root + ".idx") // a fresh one purges at once
		named, err := pack.New(id(arg+"xx", n), pack.Optional(fmt.Sprintf("round %d", n)), time.Now(), 60)
		if err != nil {
			return err
		}
		if err := s.Create(ctx, named); err != nil && !errors.Is(err, pack.ErrNameTaken) {
			return fmt.Errorf("create: %w", err)
		}
		if _, err := s.Update(ctx, "pk_aaaaaaaa", func(p *pack.Pack) error {
			tags := append(p.State().Tags, fmt.Sprintf("%s%d", arg, n))
			return p.SetMeta(pack.MetaEdit{Tags: &tags}, time.Now())
		}); err != nil {
			return fmt.Errorf("update: %w", err)
		}
		dead, err := pack.New(id(arg+"yy", n), "expired", time.Now().Add(-time.Hour), 1)
		if err != nil {
			return err
		}
		if err := s.Create(ctx, dead); err != nil {
			return fmt.Errorf("create expired: %w", err)
		}
		if _, err := s.Lookup(ctx, "expired"); err != nil {
			return fmt.Errorf("lookup: %w", err)
		}
		if _, err := s.List(ctx); err != nil {
			return fmt.Errorf("list: %w", err)
		}
	}
	return nil
}

// TestTwoProcesses race create, update and purge on one store: no update is lost, and nothing fails that should not.
func TestTwoProcesses(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	s := packfile.New(root, now(0))
	shared, err := pack.New("pk_aaaaaaaa", "shared", time.Now(), 600)
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), shared))
	var running []*exec.Cmd
	for _, who := range []string{"m", "n"} {
		cmd := child("race", root, who)
		require.NoError(t, cmd.Start())
		running = append(running, cmd)
	}
	for _, cmd := range running {
		require.NoError(t, cmd.Wait())
	}

	got, err := s.Get(t.Context(), shared.ID())
	require.NoError(t, err)
	assert.EqualValues(t, 1+2*rounds, got.Revision())
	tags := map[string]bool{}
	for _, tag := range got.State().Tags {
		tags[tag] = true
	}
	assert.Len(t, tags, 2*rounds, "no update is lost")
	all, err := packfile.New(root, now(0)).List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1+rounds, "of two creates of one name one wins")
	files, err := filepath.Glob(filepath.Join(root, "packs", "*.md"))
	require.NoError(t, err)
	assert.Len(t, files, 1+rounds, "expired packs are purged")
	locks, err := filepath.Glob(filepath.Join(root, "packs", "*.lock"))
	require.NoError(t, err)
	assert.Len(t, locks, 2, "and their locks: only those of create and of the shared pack stay")
}

// edit changes one pack until it is killed.
func edit(root, arg string) error {
	s := packfile.New(root, now(0))
	for n := 0; ; n++ {
		text := pack.Optional(strings.Repeat(fmt.Sprintf("line %d\n", n), 4_000) + "end")
		if _, err := s.Update(context.Background(), pack.ID(arg), func(p *pack.Pack) error {
			return p.SetMeta(pack.MetaEdit{Brief: &text}, time.Now())
		}); err != nil {
			return err
		}
	}
}

// TestKilledInTheMiddle kills a process while it writes, again and again; the store always reads clean.
func TestKilledInTheMiddle(t *testing.T) {
	s := open(t)
	s.Store = packfile.New(s.root, now(0))
	p, err := pack.New("pk_aaaaaaaa", "edited", time.Now(), 600)
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), p))
	last := uint64(1)
	for range 10 {
		cmd := child("edit", s.root, "pk_aaaaaaaa")
		require.NoError(t, cmd.Start())
		for from := last; last < from+2; {
			got, err := s.Get(t.Context(), p.ID())
			require.NoError(t, err)
			require.GreaterOrEqual(t, got.Revision(), last)
			last = got.Revision()
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		got, err := s.Update(t.Context(), p.ID(), touch)
		require.NoError(t, err, "the dead process's lock is free")
		require.Greater(t, got.Revision(), last-1)
		last = got.Revision()
		require.Equal(t, []pack.ID{p.ID()}, s.listed())
	}
}

// fill edits a pack that does not fit, and says what it was told.
func fill(root, arg string) error {
	signal.Ignore(syscall.SIGXFSZ)
	if arg == "limit" {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 32 << 10, Max: 32 << 10}); err != nil {
			return err
		}
	}
	s := packfile.New(root, now(0))
	big := pack.Optional(strings.Repeat("x", 400<<10))
	change := func(p *pack.Pack) error { return p.SetMeta(pack.MetaEdit{Brief: &big}, time.Now()) }
	_, updating := s.Update(context.Background(), "pk_aaaaaaaa", change)
	p, err := pack.New("pk_bbbbbbbb", "new", time.Now(), 60)
	if err != nil {
		return err
	}
	if err := change(p); err != nil {
		return err
	}
	for _, err := range []error{updating, s.Create(context.Background(), p)} {
		if !errors.Is(err, packfile.ErrStore) {
			return fmt.Errorf("got %w", err)
		}
		fmt.Println(fault.From(err).Message)
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	for _, way := range []string{"limit", "tmpfs"} {
		t.Run(way, func(t *testing.T) {
			s := open(t)
			s.Store = packfile.New(s.root, now(0))
			if way == "tmpfs" {
				require.NoError(t, os.Mkdir(s.root, 0o700))
				if err := syscall.Mount("tmpfs", s.root, "tmpfs", 0, "size=128k"); err != nil {
					return // only root may mount; the limit on file sizes shows the same
				}
				defer func() { require.NoError(t, syscall.Unmount(s.root, 0)) }()
			}
			p, err := pack.New("pk_aaaaaaaa", "kept", time.Now(), 600)
			require.NoError(t, err)
			require.NoError(t, s.Create(t.Context(), p))
			out, err := child("full", s.root, way).Output()
			require.NoError(t, err)
			said := strings.Split(strings.TrimSpace(string(out)), "\n")
			require.Len(t, said, 2)
			for i, file := range []string{"pk_aaaaaaaa.md", "pk_bbbbbbbb.md"} {
				assert.Contains(t, said[i], s.path("packs", file), "the message names the file")
				assert.Contains(t, said[i], "free some space", "and the way out")
			}
			got, err := s.Get(t.Context(), p.ID())
			require.NoError(t, err)
			assert.Equal(t, p.State(), got.State())
			assert.Equal(t, []pack.ID{p.ID()}, s.listed())
			assert.Equal(t, []string{".create.lock", "pk_aaaaaaaa.lock", "pk_aaaaaaaa.md"}, s.files("packs"), "nothing half-written stays")
		})
	}
}

// readonly reads and tries to write, as a user who may not.
func readonly(root, _ string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	ctx := context.Background()
	s := packfile.New(root, now(0))
	if all, err := s.List(ctx); err != nil || len(all) != 1 {
		return fmt.Errorf("list: %d packs, %w", len(all), err)
	}
	if _, err := s.Get(ctx, "pk_aaaaaaaa"); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	p, err := pack.New("pk_bbbbbbbb", "", time.Now(), 60)
	if err != nil {
		return err
	}
	_, updating := s.Update(ctx, "pk_aaaaaaaa", touch)
	for _, err := range []error{updating, s.Delete(ctx, "pk_aaaaaaaa", allow), s.Create(ctx, p)} {
		if !errors.Is(err, packfile.ErrStore) {
			return fmt.Errorf("got %w", err)
		}
		fmt.Println(fault.From(err).Message)
	}
	return nil
}

func TestReadOnlyStore(t *testing.T) {
	s := open(t)
	s.Store = packfile.New(s.root, now(0))
	p, err := pack.New("pk_aaaaaaaa", "kept", time.Now(), 600)
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), p))
	expired, err := pack.New("pk_cccccccc", "", time.Now().Add(-time.Hour), 1)
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), expired))
	require.NoError(t, os.Remove(s.path("packs", ".create.lock")))
	before := s.files("packs")
	for _, dir := range []string{filepath.Dir(filepath.Dir(s.root)), filepath.Dir(s.root)} {
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	for _, path := range append([]string{"", "packs"}, prefixed("packs/", before)...) {
		if os.Geteuid() == 0 {
			require.NoError(t, os.Chown(s.path(path), nobody, nobody))
		}
	}
	for _, dir := range []string{s.path("packs"), s.root} {
		require.NoError(t, os.Chmod(dir, 0o500))
		defer func() { require.NoError(t, os.Chmod(dir, 0o700)) }()
	}
	out, err := child("readonly", s.root, "").Output()
	require.NoError(t, err)
	said := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, said, 3)
	for _, line := range said {
		assert.Contains(t, line, s.path("packs"), "the message names the place")
		assert.Contains(t, line, "make it writable", "and the way out")
	}
	got, err := s.Get(t.Context(), p.ID())
	require.NoError(t, err)
	assert.Equal(t, p.State(), got.State())
}

func prefixed(prefix string, names []string) (out []string) {
	for _, n := range names {
		out = append(out, prefix+n)
	}
	return out
}
