package ecosystemfile_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/ecosystemfile"

	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

var _ ecosystemport.Workers = (*ecosystemfile.Workers)(nil)

func open(_ testing.TB, u user) stores {
	s := store(u)
	return stores{Places: s, Manifests: s, States: s.States(), Runs: s.Runs()}
}

func store(u user) *ecosystemfile.Store {
	return ecosystemfile.New(ecosystemfile.Options{Env: func(name string) string { return u.Env[name] }, Home: u.Home, Dir: u.Dir, Clock: u.Clock})
}

func TestPlaces(t *testing.T) { places(t, open) }

func TestManifests(t *testing.T) { manifests(t, open) }

func TestStates(t *testing.T) { states(t, open) }

func TestRuns(t *testing.T) { runs(t, open) }

func TestRunLogs(t *testing.T) { runLogs(t, open) }
