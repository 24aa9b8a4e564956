package homearchive_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/anchoring"
	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/homearchive"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// The test binary runs itself as another process: what it does, in which home, and with what is in its environment.
const (
	envRole = "HOMEARCHIVE_TEST_ROLE"
	envHome = "HOMEARCHIVE_TEST_HOME"
	envWith = "HOMEARCHIVE_TEST_WITH"
)

func TestMain(m *testing.M) {
	role, child := os.LookupEnv(envRole)
	if !child {
		os.Exit(m.Run())
	}
	home, with := os.Getenv(envHome), os.Getenv(envWith)
	roles := map[string]func(home, with string){"append forever": appendForever, "restore": restoreUntil, "full disk": onAFullDisk, "open": holdOpen}
	roles[role](home, with)
}

// process is this test binary doing something in a home.
func process(t *testing.T, role, home, with string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envRole+"="+role, envHome+"="+home, envWith+"="+with)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	_, err = cmd.StdinPipe() // it lasts as long as this process
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has ended when all went well
		cmd.Wait()         //nolint:errcheck // likewise
	})
	return cmd, bufio.NewScanner(out)
}

func archive(home string) *homearchive.Archive {
	named := home
	if real, err := filepath.EvalSymlinks(home); err == nil {
		named = real
	}
	return homearchive.New(homearchive.Options{Home: home, Where: func() (string, string) { return named, "m1" }, Version: "test", Clock: wall{}, ID: func() string { return "restore_1" }})
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

// record returns the audit of a home, as the product keeps it.
func record(home string) (*sqlitestore.Store, *anchoring.AnchoredLog) {
	store := sqlitestore.Open(filepath.Join(home, "countersign.db"))
	signer := docfile.NewSigner(filepath.Join(home, "keys"), home, "m1", time.Now)
	store.SignWith(signer)
	return store, anchoring.NewAnchoredLog(anchoring.Options{Log: store, Signer: signer, Dir: home, Home: home, Machine: "m1", Clock: wall{}, Slog: slog.New(slog.DiscardHandler),
		Open: func(a audit.Anchor) (anchoring.Place, error) { return anchoring.OpenFile(a.Where) }})
}

// with runs f on the record of a home, and lets go of it.
func with(t *testing.T, home string, f func(*sqlitestore.Store, *anchoring.AnchoredLog)) {
	t.Helper()
	store, log := record(home)
	f(store, log)
	require.NoError(t, log.Close(context.Background()))
	require.NoError(t, store.Close())
}

// lived returns a home in which something was done, with an anchor elsewhere.
func lived(t *testing.T, records int) (home string) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	with(t, home, func(s *sqlitestore.Store, log *anchoring.AnchoredLog) {
		for i := range records {
			require.NoError(t, log.Append(t.Context(), porttest.Event(fmt.Sprint("call_", i))))
		}
		_, err := log.Add(t.Context(), "terminal", audit.Anchor{Kind: audit.AnchorFile, Where: filepath.Join(filepath.Dir(home), "heads.jsonl")})
		require.NoError(t, err)
		g, _ := porttest.Grant(1)
		require.NoError(t, sqlitestore.NewLedger(s).Issue(t.Context(), g)) // its arguments are sealed, so there is a key
	})
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.yaml"), []byte("confirm_ttl: 3m\n"), 0o640))
	return home
}

// whole holds the audit of a home against everything, and is how many records it has.
func whole(t *testing.T, home string) (n int64) {
	t.Helper()
	with(t, home, func(_ *sqlitestore.Store, log *anchoring.AnchoredLog) {
		r, err := log.Check(t.Context())
		require.NoError(t, err)
		for _, wrong := range r.Faults {
			assert.NoError(t, wrong)
		}
		n = r.Records
	})
	return n
}

func quiet(int64, int64) {}

// backup makes one beside the home.
func backup(t *testing.T, home string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "b.tar")
	_, err := archive(home).Make(t.Context(), file, false, quiet)
	require.NoError(t, err)
	return file
}

// restore puts a backup in the place of a home.
func restore(ctx context.Context, a *homearchive.Archive, file string) (ports.Restored, error) {
	v, err := a.Look(ctx, file, quiet)
	if err != nil {
		return ports.Restored{}, err
	}
	store, log := record(a.Home)
	a.KeepIn(log, nil)
	r, err := a.Stage(ctx, v, "call_1", quiet)
	if err = errors.Join(err, log.Close(ctx), store.Close()); err != nil {
		return r, err
	}
	return r, a.Finish(ctx)
}

func appendForever(home, _ string) {
	store, log := record(home)
	for n := 0; ; n++ {
		if err := log.Append(context.Background(), porttest.Event("x"), porttest.Event("y")); err != nil {
			fmt.Println(fault.From(err).Message)
			return
		}
		g, _ := porttest.Grant(1)
		g.ID = fmt.Sprint("cf_", n)
		g.Digest[0], g.Digest[1], g.Digest[2] = byte(n), byte(n>>8), 7
		if err := sqlitestore.NewLedger(store).Issue(context.Background(), g); err != nil {
			fmt.Println(fault.From(err).Message)
			return
		}
		fmt.Println(n)
	}
}

// restoreUntil restores a backup and kills itself at a step; without one it goes on to the end.
func restoreUntil(home, with string) {
	file, at, _ := cut(with)
	a := archive(home)
	a.Reached(func(step string) {
		fmt.Println(step)
		if step == at {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // it is this process
			select {}
		}
	})
	if _, err := restore(context.Background(), a, file); err != nil {
		fmt.Println(fault.From(err).Message)
		os.Exit(1)
	}
}

func cut(with string) (file, at string, ok bool) {
	for i := range with {
		if with[i] == '|' {
			return with[:i], with[i+1:], true
		}
	}
	return with, "", false
}

// onAFullDisk does something where no file can become larger than 64 kB.
func onAFullDisk(home, with string) {
	what, file, _ := cut(with)
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		panic(err)
	}
	var err error
	if what == "backup" {
		_, err = archive(home).Make(context.Background(), file, false, quiet)
	} else {
		_, err = restore(context.Background(), archive(home), file)
	}
	fmt.Println(fault.From(err).Code)
	fmt.Println(fault.From(err).Message)
}

// holdOpen has the database open until it is killed.
func holdOpen(home, _ string) {
	store, _ := record(home)
	_, err := store.Tail(context.Background(), 1)
	fmt.Println("open", err == nil)
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // until it is killed
}

func sha(body string) [sha256.Size]byte { return sha256.Sum256([]byte(body)) }

// porttestTime returns when the questions of porttest wait.
func porttestTime() time.Time {
	g, _ := porttest.Grant(1)
	return g.IssuedAt
}
