package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

// The test binary runs itself as another process: what the child does, and on which database, is in its environment.
const (
	envRole = "SQLITESTORE_TEST_ROLE"
	envPath = "SQLITESTORE_TEST_PATH"
	envName = "SQLITESTORE_TEST_NAME"
)

func TestMain(m *testing.M) {
	if path, child := os.LookupEnv(projectEnvPath); child {
		crowdChild(path)
		return
	}
	role, child := os.LookupEnv(envRole)
	if !child {
		goleak.VerifyTestMain(m)
		return
	}
	s := sqlitestore.Open(os.Getenv(envPath))
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end of standard input is the signal to start
	roles[role](s)
	if err := s.Close(); err != nil {
		fmt.Println("close:", err)
		os.Exit(1)
	}
}

var roles = map[string]func(*sqlitestore.Store){
	"redeem": childRedeems, "append": childAppends, "append forever": childAppendsForever, "try everything": childTriesEverything, "grant": childGrants,
	"append once": childAppendsOnce, "upgrade on a full disk": childUpgradesOnAFullDisk,
}

// child is this test binary in another process.
type child struct {
	cmd   *exec.Cmd
	out   *bufio.Scanner
	start func()
}

func spawn(t *testing.T, role, path, name string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return launch(t, exec.Command(self), role, path, name)
}

func launch(t *testing.T, cmd *exec.Cmd, role, path, name string) *child {
	t.Helper()
	cmd.Env = append(os.Environ(), envRole+"="+role, envPath+"="+path, envName+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, out: bufio.NewScanner(out), start: func() { in.Close() }} //nolint:errcheck // closing is the signal
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has ended when all went well
		cmd.Wait()         //nolint:errcheck // likewise
	})
	return c
}

// lines returns everything the child says until it ends, which it must do well.
func (c *child) lines(t *testing.T) []string {
	t.Helper()
	var all []string
	for c.out.Scan() {
		all = append(all, c.out.Text())
	}
	require.NoError(t, c.cmd.Wait(), "%q", all)
	return all
}

const crowdedToken = "the one token of the crowd"

func crowded() confirm.Request {
	g, _ := porttest.Grant(1)
	g.ID, g.Digest = "cf_crowd", confirm.NewToken(crowdedToken).Digest()
	return g
}

func childRedeems(s *sqlitestore.Store) {
	g := crowded()
	err := sqlitestore.NewLedger(s).Settle(context.Background(), g.Digest, func(have *confirm.Request) error { return have.Redeem(g.Binding, "", g.IssuedAt) })
	fmt.Println(code(err))
}

func TestOneOfManyProcessesRedeems(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countersign.db")
	require.NoError(t, sqlitestore.NewLedger(openAt(t, path)).Issue(t.Context(), crowded()))
	crowd := make([]*child, porttest.Contenders)
	for i := range crowd {
		crowd[i] = spawn(t, "redeem", path, "")
	}
	for _, c := range crowd {
		c.start()
	}
	said := map[string]int{}
	for _, c := range crowd {
		for _, line := range c.lines(t) {
			said[line]++
		}
	}
	assert.Equal(t, map[string]int{"ok": 1, "confirm_token_used": porttest.Contenders - 1}, said)
}

func childAppends(s *sqlitestore.Store) {
	for n := range 200 {
		if err := s.Append(context.Background(), porttest.Event(os.Getenv(envName)+strconv.Itoa(n))); err != nil {
			fmt.Println(code(err), err)
			return
		}
	}
}

func TestTwoProcessesOneChain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countersign.db")
	a, b := spawn(t, "append", path, "a"), spawn(t, "append", path, "b")
	a.start()
	b.start()
	assert.Empty(t, a.lines(t))
	assert.Empty(t, b.lines(t))
	s := openAt(t, path)
	assert.Equal(t, int64(400), porttest.Verify(t, s))
	next := map[byte]int{}
	for r, err := range porttest.All(t.Context(), s) {
		require.NoError(t, err)
		who := r.Event.CallID[0]
		assert.Equal(t, string(who)+strconv.Itoa(next[who]), r.Event.CallID, "each process's own order is kept")
		next[who]++
	}
}

func childGrants(s *sqlitestore.Store) {
	name := os.Getenv(envName)
	fmt.Println(code(s.Append(context.Background(), porttest.Event(name))))
	fmt.Println(code(s.Sessions().Update(context.Background(), "key", func(have *ports.Session) error { have.Grant(porttest.Always(name)[0]); return nil })))
}

// Many processes find no database at once: each would create it, turn the write-ahead log on and run the migrations.
func TestManyProcessesCreateOneDatabase(t *testing.T) {
	t.Parallel()
	const many = 16
	path := filepath.Join(t.TempDir(), "home", "countersign.db")
	crowd := make([]*child, many)
	for i := range crowd {
		crowd[i] = spawn(t, "grant", path, strconv.Itoa(i))
	}
	for _, c := range crowd {
		c.start()
	}
	for _, c := range crowd {
		assert.Equal(t, []string{"ok", "ok"}, c.lines(t))
	}
	s := openAt(t, path)
	assert.Equal(t, int64(many), porttest.Verify(t, s))
	have, err := s.Sessions().Load(t.Context(), "key")
	require.NoError(t, err)
	assert.Len(t, have.Granted, many)
}

func childAppendsForever(s *sqlitestore.Store) {
	for n := 0; ; n++ {
		if err := s.Append(context.Background(), porttest.Event("x"), porttest.Event("y")); err != nil {
			fmt.Println(code(err), err)
			return
		}
		fmt.Println(n)
	}
}

func TestKilledWhileAppending(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countersign.db")
	promised := 0
	for round := range 5 {
		c := spawn(t, "append forever", path, "")
		c.start()
		for range 20 + 7*round {
			require.True(t, c.out.Scan())
			promised++
		}
		require.NoError(t, c.cmd.Process.Signal(syscall.SIGKILL))
		for c.out.Scan() {
			promised++
		}
		require.Error(t, c.cmd.Wait())
		s := sqlitestore.Open(path)
		n := porttest.Verify(t, s)
		assert.GreaterOrEqual(t, n, int64(2*promised), "what was acknowledged is there")
		assert.Zero(t, n%2, "events appended together are there together")
		promised = int(n / 2)
		require.NoError(t, s.Append(t.Context(), porttest.Event("x"), porttest.Event("y")))
		promised++
		require.NoError(t, s.Close())
	}
}

// childTriesEverything says how every kind of read and of change ends, in a fixed order.
func childTriesEverything(s *sqlitestore.Store) {
	for _, step := range everything(context.Background(), s) {
		fmt.Println(step)
	}
}

// everything returns every call there is, with what came of it. The last ones of each half are those that write.
func everything(ctx context.Context, s *sqlitestore.Store) []string {
	g, token := porttest.Grant(1)
	var out []string
	say := func(what string, value any, err error) {
		if err != nil {
			value = code(err)
		}
		out = append(out, fmt.Sprintf("%s: %v", what, value))
	}
	now, err := s.Load(ctx)
	say("load settings", now.Level, err)
	session, err := s.Sessions().Load(ctx, "key")
	say("load session", session.Granted, err)
	records, err := s.Records(ctx, 0, 0)
	say("records", len(records), err)
	records, err = s.Tail(ctx, 10)
	say("tail", len(records), err)
	pending, err := sqlitestore.NewLedger(s).Pending(ctx, ports.PendingFilter{}, g.IssuedAt)
	say("pending", len(pending), err)

	other, _ := porttest.Grant(2)
	say("issue", "ok", sqlitestore.NewLedger(s).Issue(ctx, other))
	say("settle", "ok", sqlitestore.NewLedger(s).Settle(ctx, token.Digest(), func(g *confirm.Request) error { g.State = confirm.Spent; return nil }))
	n, err := sqlitestore.NewLedger(s).Purge(ctx, g.IssuedAt.Add(time.Hour))
	say("purge", n, err)
	say("append", "ok", s.Append(ctx, porttest.Event("later")))
	_, err = s.Save(ctx, ports.Settings{Revision: now.Revision, Level: policy.FullAccess})
	say("save", "ok", err)
	say("update", "ok", s.Sessions().Update(ctx, "key", func(have *ports.Session) error { have.Grant(porttest.Always("later")[0]); return nil }))
	say("end", "ok", s.Sessions().End(ctx, "key"))
	return out
}

// seed stores one of each in the database at path and closes it.
func seed(t *testing.T, path string) {
	t.Helper()
	s := sqlitestore.Open(path)
	g, _ := porttest.Grant(1)
	require.NoError(t, sqlitestore.NewLedger(s).Issue(t.Context(), g))
	require.NoError(t, s.Append(t.Context(), porttest.Event("call_1"), porttest.Event("call_2")))
	_, err := s.Save(t.Context(), porttest.Settings())
	require.NoError(t, err)
	require.NoError(t, s.Sessions().Update(t.Context(), "key", func(have *ports.Session) error { have.Grant(porttest.Always("deploy")[0]); return nil }))
	require.NoError(t, s.Close())
}

// What everything says of a seeded database, of one that is not there, and of changes that are refused.
var (
	seededReads = []string{"load settings: execute_with_confirm", "load session: [deploy]", "records: 2", "tail: 2", "pending: 1"}
	emptyReads  = []string{"load settings: ", "load session: []", "records: 0", "tail: 0", "pending: 0"}
	noReads     = []string{
		"load settings: store_unavailable", "load session: store_unavailable", "records: store_unavailable", "tail: store_unavailable",
		"pending: store_unavailable",
	}
	noChanges = []string{
		"issue: store_unavailable", "settle: store_unavailable", "purge: store_unavailable", "append: store_unavailable", "save: store_unavailable",
		"update: store_unavailable", "end: store_unavailable",
	}
	allChanges = []string{"issue: ok", "settle: ok", "purge: 2", "append: ok", "save: ok", "update: ok", "end: ok"}
)

// code returns the code of the fault that err is: the class of everything else is internal.
func code(err error) string {
	if err == nil {
		return "ok"
	}
	return string(fault.From(err).Code)
}
