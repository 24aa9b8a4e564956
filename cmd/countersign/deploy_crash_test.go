package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/internal/testkit/stdiotest"
)

// book is a site with a skill of many pages in two editions: between them pages change, come and go, a script loses its mode bits and
// another gets them.
type book struct {
	*site
	agent    *agent // the one that is not killed yet
	pages    int
	editions [2]map[string]string // contents of everything deployed
	ids      [2]string            // a snapshot of each
}

func newBook(t *testing.T, pages int) *book {
	b := &book{site: newSite(t), pages: pages}
	b.manifest(projectOnly)
	b.agent = b.site.agent()
	for edition := range 2 {
		b.turn(edition)
		b.ids[edition] = b.agent.deploys(nil).Snapshot
		b.editions[edition] = contents(b.deployed())
	}
	return b
}

// turn makes the configuration that of an edition.
func (b *book) turn(edition int) {
	b.t.Helper()
	dir := b.inRepo("modules/skills/release-notes/pages")
	require.NoError(b.t, os.RemoveAll(dir))
	for i := range b.pages {
		kind, text, mode := i%5, "a page\n", os.FileMode(0o644)
		switch {
		case kind == 0 && edition == 0, kind == 1 && edition == 1:
			continue
		case kind == 2 || kind == 3:
			text = fmt.Sprintf("page %d of edition %d\n", i, edition)
		}
		if kind == 3 && i%2 == edition {
			mode = 0o755
		}
		write(b.t, filepath.Join(dir, fmt.Sprintf("%03d.md", i)), text)
		require.NoError(b.t, os.Chmod(filepath.Join(dir, fmt.Sprintf("%03d.md", i)), mode))
	}
}

// page is a deployed page that differs between the editions.
func (b *book) page(i int) string {
	return b.inProject(fmt.Sprintf(".agents/skills/release-notes/pages/%03d.md", i))
}

// mark is what tells whether the page was written again: its content and whether it is there.
func (b *book) mark(i int) string {
	data, err := os.ReadFile(b.page(i))
	return fmt.Sprint(string(data), err != nil)
}

// begun reports an operation that has its journal and not yet its end.
func (b *book) begun() bool {
	_, err := os.Lstat(filepath.Join(b.state, "state/journal.json"))
	return err == nil
}

// TestKilledApplies: the binary is killed at any moment of an apply or a rollback. The next one refuses and names the ways out; undo gives
// exactly what was before, resume exactly what should have come, and ownership is right in both.
func TestKilledApplies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no kill -9")
	}
	t.Parallel()
	b := newBook(t, 300)
	const enough = 12 // an apply and a rollback, each undone and each resumed, twice or more
	random := rand.New(rand.NewSource(int64(os.Getpid())))
	hits, edition := 0, 1
	for round := 0; hits < enough; round++ {
		require.Less(t, round, 6*enough, "kills hit %d times only", hits)
		page := random.Intn(b.pages / 5 * 4)
		if b.strike(edition, round%3 == 2, page/4*5+page%4) { // every fifth page is the same in both editions
			hits++
			edition = b.recovers(edition, round%2 == 0, hits < 4)
			continue
		}
		now := contents(b.deployed()) // it was too early or too late
		for i := range b.editions {
			if assert.ObjectsAreEqual(b.editions[i], now) {
				edition = i
			}
		}
		require.Equal(t, b.editions[edition], now, "neither edition is there whole")
	}
}

// strike begins to change the edition and kills the process as soon as a page was touched. It reports whether that was in the middle.
func (b *book) strike(edition int, rollback bool, page int) bool {
	b.t.Helper()
	other := 1 - edition
	b.turn(other)
	a := b.agent
	tool, in := "rollback", args{"to": b.ids[other], "yes": true}
	if !rollback {
		tool, in = "deploy_apply", args{"yes": true, "confirm_token": a.does("deploy", nil).Token}
	}
	request, err := json.Marshal(args{"jsonrpc": "2.0", "id": "struck", "method": "tools/call", "params": args{"name": tool, "arguments": in}})
	require.NoError(b.t, err)
	before := b.mark(page)
	a.Send(string(request))
	look := time.NewTicker(200 * time.Microsecond)
	defer look.Stop()
	for looks, begun := 0, false; b.mark(page) == before && !(begun && !b.begun()); begun = begun || b.begun() {
		<-look.C
		looks++
		require.Less(b.t, time.Duration(looks)*200*time.Microsecond, stdiotest.Patience, "nothing was written")
	}
	a.Kill()
	b.agent = b.site.agent()
	return b.begun()
}

// recovers goes forward or back, and returns the edition that is there then.
func (b *book) recovers(edition int, undo, closely bool) int {
	t, a := b.t, b.agent
	t.Helper()
	p := a.refuses("E_APPLY_INTERRUPTED", "deploy", nil)
	assert.Equal(t, []any{"run_recover_resume", "run_recover_undo"}, p.Details["next_actions"])
	if closely {
		struck := b.deployed()
		a.refuses("E_APPLY_INTERRUPTED", "rollback", args{"to": "initial", "yes": true})
		for _, look := range []string{"doctor", "plan", "status", "preview"} {
			assert.Contains(t, fmt.Sprint(a.ask(look, nil).Warnings), "was interrupted", look)
		}
		assert.Equal(t, struck, b.deployed(), "refusing and looking change nothing")
	}
	kind := "resume"
	if undo {
		kind = "undo"
	} else {
		edition = 1 - edition
	}
	assert.Empty(t, b.tool("agents_recover", args{"kind": kind, "yes": true}).answer(t).Left, kind)
	require.Equal(t, b.editions[edition], contents(b.deployed()), "after %s", kind)
	assert.False(t, b.begun())
	if undo { // otherwise the configuration is of the edition already
		b.turn(edition)
	}
	assert.Empty(t, a.does("plan", nil).Changes, "after %s the files are owned as they were deployed", kind)
	return edition
}

// TestAJournalPutBack: the journal of a deployment that is over, put back by whoever may write files, is not finished or taken back again: nobody is asked
// about it, nothing is changed, and it says where it is.
func TestAJournalPutBack(t *testing.T) {
	t.Parallel()
	b := newBook(t, 100)
	edition, journal := 1, ""
	for tries := 0; journal == ""; tries++ { // it is there for an instant only
		require.Less(t, tries, 50, "the journal was never seen")
		edition = 1 - edition
		b.turn(edition)
		journal = b.applyWatchingJournal()
	}
	file := filepath.Join(b.state, "state/journal.json")
	write(t, file, journal)
	b.agent = b.site.agent()
	for _, kind := range []string{"undo", "resume"} {
		p := b.tool("agents_recover", args{"kind": kind, "yes": true})
		require.NotEmpty(t, p.Errors, kind)
		assert.Equal(t, "E_SNAPSHOT_DAMAGED", p.Errors[0].Code, kind)
		assert.Equal(t, b.editions[edition], contents(b.deployed()), kind)
	}
	assert.Contains(t, b.agent.refuses("E_SNAPSHOT_DAMAGED", "deploy", nil).Message, file)
	require.NoError(t, os.Remove(file))
	assert.Equal(t, "no_changes", b.agent.applies().Reason)
}

// applyWatchingJournal deploys to the end, and returns the journal as it stood meanwhile, if it was seen.
func (b *book) applyWatchingJournal() string {
	b.t.Helper()
	path, done, found := filepath.Join(b.state, "state/journal.json"), make(chan struct{}), make(chan string, 1)
	go func() {
		for {
			data, err := os.ReadFile(path)
			select {
			case <-done:
				found <- string(data)
				return
			default:
			}
			if err == nil {
				found <- string(data)
				return
			}
		}
	}()
	assert.True(b.t, *b.agent.applies().Applied)
	close(done)
	return <-found
}
