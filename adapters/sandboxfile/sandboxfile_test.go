package sandboxfile_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/sandboxfile"
	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/internal/testkit/clock"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

var (
	_ sandboxport.States      = (*sandboxfile.Store)(nil)
	_ sandboxport.ProjectDirs = (*sandboxfile.Store)(nil)
	_ sandboxport.Keys        = (*sandboxfile.Store)(nil)
)

const origin = "git@github.com:user/repo.git"

// TestMain lets the test binary be the other processes that the tests need.
func TestMain(m *testing.M) {
	if dir := os.Getenv(readerVariable); dir != "" {
		readAsNobody(dir)
		return
	}
	role := os.Getenv("SANDBOXFILE_CHILD")
	if role == "" {
		os.Exit(m.Run())
	}
	s := sandboxfile.New(sandboxfile.Options{Home: os.Args[1], Clock: &clock.Fake{}})
	switch role {
	case "count": // raise a number fifty times
		for range 50 {
			must(count(s))
		}
	case "write": // change everything until killed, telling every change
		for i := 1; ; i++ {
			must(both(s, i))
			fmt.Println(i)
		}
	case "full": // write more than the limit on file sizes allows
		signal.Ignore(syscall.SIGXFSZ)
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20_000, Max: 20_000}))
		_, err := s.Update(context.Background(), func(s *sandbox.State) error {
			p := s.Projects[origin]
			p.Server.LastError, p.Server.Port = strings.Repeat("x", 40_000), 4199
			s.Projects[origin] = p
			return nil
		})
		fmt.Println(err)
	case "hold": // hold a project until told to end
		url, err := git.ParseURL(origin)
		must(err)
		_, err = s.Hold(context.Background(), url)
		must(err)
		fmt.Println("held")
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func count(s *sandboxfile.Store) error {
	_, err := s.Update(context.Background(), func(s *sandbox.State) error {
		s.Gateway.PID++
		return nil
	})
	return err
}

// both changes the state and the table of servers.
func both(s *sandboxfile.Store, i int) error {
	_, err := s.Update(context.Background(), func(s *sandbox.State) error {
		p := s.Projects[origin]
		p.Server.Port = 4100 + i%100
		p.Server.LastError = strings.Repeat("padding ", 4000)
		s.Projects[origin] = p
		return nil
	})
	return err
}

// place returns a home directory that no link leads to.
func place(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func open(home string, pairs ...string) *sandboxfile.Store {
	return sandboxfile.New(sandboxfile.Options{Home: home, Clock: &clock.Fake{}, Env: env(pairs...)})
}

func memory(home string, name ...string) string {
	return filepath.Join(append([]string{home, ".memory"}, name...)...)
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestStates(t *testing.T) {
	states(t, func(t testing.TB) func() sandboxport.States {
		home := place(t)
		return func() sandboxport.States { return open(home) }
	})
}

func TestHomes(t *testing.T) {
	homes(t, func(_ testing.TB, home string) sandboxport.ProjectDirs { return open(home) })
}

func TestKeys(t *testing.T) {
	keys(t, func(_ testing.TB, home string) sandboxport.Keys { return open(home) })
}

func TestPlaces(t *testing.T) {
	home := place(t)
	for _, row := range [][4]string{
		{"", "", ".memory", ".opencode-projects"}, {"~/m", "~/p", "m", "p"}, {" ~/m/ ", "rel/p", "m", "rel/p"}, {home + "/x/../m", home + "/p", "m", "p"}, {"~", "p", ".", "p"},
	} {
		l := open(home, "MEMORY_PATH", row[0], "OPENCODE_PROJECTS_DIR", row[1]).Layout("n", "")
		require.Equal(t, filepath.Join(home, row[2], "opencode-sandboxes/n/.env"), l.Secrets)
		require.Equal(t, filepath.Join(home, row[3], "n"), l.Base)
	}
}

func TestPatienceEnds(t *testing.T) {
	home := place(t)
	url := url(t, origin)
	s := sandboxfile.New(sandboxfile.Options{Home: home, Clock: &clock.Fake{}, Patience: 30 * time.Millisecond})
	release, err := s.Hold(t.Context(), url)
	require.NoError(t, err)
	for _, other := range []*sandboxfile.Store{s, sandboxfile.New(sandboxfile.Options{Home: home, Clock: &clock.Fake{}, Patience: 30 * time.Millisecond})} {
		_, err = other.Hold(t.Context(), url)
		require.ErrorIs(t, err, sandbox.ErrBusy)
		require.ErrorContains(t, err, origin)
	}
	release()
	release, err = s.Hold(t.Context(), url)
	require.NoError(t, err)
	release()
}

// TestHomeless: without a home directory nothing is read or written wherever the process happens to stand.
func TestHomeless(t *testing.T) {
	t.Chdir(place(t))
	s := open("")
	p := record(t, origin)
	_, loaded := s.Load(t.Context())
	_, updated := s.Update(t.Context(), func(*sandbox.State) error { return nil })
	_, held := s.Hold(t.Context(), p.URL)
	_, _, begun := s.Init(t.Context())
	_, set := s.Settings(t.Context(), "n")
	_, ensured := s.Ensure(t.Context(), "n")
	_, discarded := s.Discard(t.Context(), s.Layout("n", ""))
	_, migrated := s.Migrate(t.Context(), true)
	for _, err := range []error{loaded, updated, held, begun, set, ensured, discarded, migrated, s.Prepare(t.Context(), p, s.Layout("n", ""))} {
		require.ErrorIs(t, err, sandbox.ErrConfiguration)
	}
	_, _, _, err := s.Identify(t.Context(), "~/x")
	require.ErrorIs(t, err, sandbox.ErrURL)
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, entries)

	dir := place(t)
	_, err = open("", "MEMORY_PATH", dir+"/m", "OPENCODE_PROJECTS_DIR", dir+"/p").Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, dir+"/.memory/opencode-logs/global-mcp-tool.log", open(dir).GatewayLog())
	require.Equal(t, dir+"/.memory/opencode-mcp-tool-servers.json", open(dir).TablePath())
}
