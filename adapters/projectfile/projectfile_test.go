package projectfile_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/projectfile"

	"github.com/countersign-dev/countersign/ports/projectport"
)

func open(_ testing.TB, m machine) projectport.Directories {
	return projectfile.New(projectfile.Options{Home: m.Home, Own: m.Own, Env: func() []string { return m.Env }})
}

func TestDirectories(t *testing.T) { directories(t, open) }
