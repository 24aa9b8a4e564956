package system_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/system"
	"github.com/countersign-dev/countersign/domain/owner"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
	"github.com/countersign-dev/countersign/ports"
)

var (
	_ ports.ProcessIdentity = system.Owner{}
	_ ports.ProcessIdentity = (*system.Owners)(nil)
)

// own is this process as an owner, with something about it changed.
func own(t *testing.T, change func(*owner.ID)) string {
	t.Helper()
	id, ok := owner.ParseID(system.Owner{}.Self())
	require.True(t, ok)
	change(&id)
	return id.String()
}

func TestOwnerKnowsItself(t *testing.T) {
	self := system.Owner{}.Self()
	assert.Equal(t, self, system.Owner{}.Self())
	assert.True(t, strings.HasPrefix(self, strconv.Itoa(os.Getpid())+":"), self)
	assert.NotContains(t, self, "-:", "all of it is known here")
	assert.Equal(t, owner.Alive, system.Owner{}.Judge(self))
	assert.Empty(t, system.Owner{}.Elsewhere(self))
}

func TestOwnerOfAnEndedProcessIsDead(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self, "-test.run=^TestSayWhoYouAre$")
	child.Env = append(os.Environ(), "SYSTEM_TEST_SAY=1")
	said, err := child.Output()
	require.NoError(t, err)
	name := strings.TrimSpace(strings.Split(string(said), "\n")[0])
	assert.True(t, strings.HasPrefix(name, strconv.Itoa(child.Process.Pid)+":"), name)
	assert.Equal(t, owner.Dead, system.Owner{}.Judge(name))
}

// TestSayWhoYouAre is what a child does.
func TestSayWhoYouAre(t *testing.T) {
	if os.Getenv("SYSTEM_TEST_SAY") != "" {
		_, err := os.Stdout.WriteString(system.Owner{}.Self() + "\n")
		require.NoError(t, err)
	}
}

func TestOwnerKnowsNothingOfOtherPlaces(t *testing.T) {
	away := own(t, func(id *owner.ID) { id.Space = "1" })
	assert.Equal(t, owner.Unknown, system.Owner{}.Judge(away))
	assert.Contains(t, system.Owner{}.Elsewhere(away), "another container of this machine")
	assert.Equal(t, owner.Dead, system.Owner{}.Judge(own(t, func(id *owner.ID) { id.Boot = "an-earlier-start" })))
	assert.Equal(t, owner.Unknown, system.Owner{}.Judge(own(t, func(id *owner.ID) { id.Boot, id.Machine = "another", "another" })))
	assert.Equal(t, owner.Dead, system.Owner{}.Judge(""), "nobody")
}

// TestAPersonSettlesWhatCannotBeSeen, and nothing else does: not a lease that ran out somewhere else.
func TestAPersonSettlesWhatCannotBeSeen(t *testing.T) {
	leases, now := system.NewLeases(filepath.Join(t.TempDir(), "owners")), &clock.Fake{}
	owners := system.NewOwners(leases, now, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { require.NoError(t, owners.Close()) })
	away := own(t, func(id *owner.ID) { id.Space = "1" })
	require.NoError(t, leases.Renew(t.Context(), away, now.Now()))
	now.Advance(100 * owner.LeaseTimeout)
	assert.Equal(t, owner.Unknown, owners.Judge(away))
	assert.Contains(t, owners.Elsewhere(away), "countersign owners forget "+owner.Name(away))
	_, err := leases.Forget(t.Context(), owner.Name(away), "terminal", now.Now())
	require.NoError(t, err)
	assert.Equal(t, owner.Dead, owners.Judge(away))
	assert.Empty(t, owners.Elsewhere(away))
	_, err = leases.Forget(t.Context(), owner.Name(owners.Self()), "terminal", now.Now())
	require.NoError(t, err)
	assert.Equal(t, owner.Alive, owners.Judge(owners.Self()), "who is seen to run, runs")
}

// TestALeaseCountsWhereTheSystemIsSilent: of a process of this place whose start nobody knows, the number alone says nothing.
func TestALeaseCountsWhereTheSystemIsSilent(t *testing.T) {
	leases, now := system.NewLeases(filepath.Join(t.TempDir(), "owners")), &clock.Fake{}
	owners := system.NewOwners(leases, now, slog.New(slog.DiscardHandler))
	silent := own(t, func(id *owner.ID) { id.Start = "" })
	assert.Equal(t, owner.Unknown, owners.Judge(silent), "it never had a lease")
	require.NoError(t, leases.Renew(t.Context(), silent, now.Now()))
	now.Advance(owner.LeaseTimeout)
	assert.Equal(t, owner.Unknown, owners.Judge(silent))
	now.Advance(1)
	assert.Equal(t, owner.Dead, owners.Judge(silent))
	require.NoError(t, owners.Close())
}

// TestLeasesAreRenewedAndGivenUp: the first renewal tidies up after those who have ended.
func TestLeasesAreRenewedAndGivenUp(t *testing.T) {
	leases, now := system.NewLeases(filepath.Join(t.TempDir(), "owners")), &clock.Fake{}
	gone, away := own(t, func(id *owner.ID) { id.Start = "1" }), own(t, func(id *owner.ID) { id.Space = "1" })
	require.NoError(t, leases.Renew(t.Context(), gone, now.Now()))
	require.NoError(t, leases.Renew(t.Context(), away, now.Now()))
	owners := system.NewOwners(leases, now, slog.New(slog.DiscardHandler))
	require.NoError(t, owners.Renew(t.Context()))
	all, err := leases.List(t.Context())
	require.NoError(t, err)
	names := []string{}
	for _, l := range all {
		names = append(names, l.Owner)
	}
	assert.ElementsMatch(t, []string{away, owners.Self()}, names)
	require.NoError(t, owners.Close())
	require.NoError(t, owners.Close())
	all, err = leases.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, away, all[0].Owner)
}
