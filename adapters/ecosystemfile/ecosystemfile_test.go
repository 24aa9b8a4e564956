package ecosystemfile_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemtest"
	"github.com/countersign-dev/countersign/internal/testkit/ecosystemtest/runlogtest"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var _ ecosystemport.Workers = (*ecosystemfile.Workers)(nil)

func open(_ testing.TB, u ecosystemtest.User) ecosystemtest.House {
	s := store(u)
	return ecosystemtest.House{Places: s, Manifests: s, States: s.States(), Runs: s.Runs()}
}

func store(u ecosystemtest.User) *ecosystemfile.Store {
	return ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return u.Env[name] }, Home: u.Home, Dir: u.Dir, Clock: u.Clock})
}

func TestPlaces(t *testing.T) { ecosystemtest.Places(t, open) }

func TestManifests(t *testing.T) { ecosystemtest.Manifests(t, open) }

func TestStates(t *testing.T) { ecosystemtest.States(t, open) }

func TestRuns(t *testing.T) { runlogtest.Runs(t, open) }

func TestRunLogs(t *testing.T) { runlogtest.RunLogs(t, open) }
