package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
	"github.com/countersign-dev/countersign/domain/project"
)

func namesOf(all []project.Service) (out []string) {
	for _, s := range all {
		out = append(out, s.Name)
	}
	return out
}

func TestProcfile(t *testing.T) {
	all, err := project.ParseProcfile("# all of it\nweb: npm run dev -- --port 3000\n\n worker : sh -c 'a: b'\n")
	require.NoError(t, err)
	assert.Equal(t, []project.Service{{Name: "web", Command: "npm run dev -- --port 3000"}, {Name: "worker", Command: "sh -c 'a: b'"}}, all)
	_, err = project.ParseProcfile("web npm")
	require.ErrorIs(t, err, project.ErrArgument)
}

// TestServicesInOrder: a service comes after its dependencies, and selecting one includes them.
func TestServicesInOrder(t *testing.T) {
	all := []project.Service{{Name: "web", Command: "x", DependsOn: []string{"api"}}, {Name: "api", Command: "x", DependsOn: []string{"db"}}, {Name: "db", Command: "x"}, {Name: "mail", Command: "x"}}
	ordered, err := project.OrderServices(all)
	require.NoError(t, err)
	assert.Equal(t, []string{"db", "mail", "api", "web"}, namesOf(ordered))
	some, err := project.PickServices(ordered, []string{"api"})
	require.NoError(t, err)
	assert.Equal(t, []string{"db", "api"}, namesOf(some))
	some, err = project.PickServices(ordered, nil)
	require.NoError(t, err)
	assert.Equal(t, ordered, some)
	_, err = project.PickServices(ordered, []string{"nothing"})
	require.ErrorIs(t, err, project.ErrArgument)
}

func TestServicesRefuse(t *testing.T) {
	for name, all := range map[string][]project.Service{
		"none":              {},
		"twice":             {{Name: "a", Command: "x"}, {Name: "a", Command: "y"}},
		"a name of two":     {{Name: "a b", Command: "x"}},
		"an option":         {{Name: "-a", Command: "x"}},
		"no command":        {{Name: "a"}},
		"upwards":           {{Name: "a", Command: "x", Dir: "../b"}},
		"somewhere":         {{Name: "a", Command: "x", Dir: "/etc"}},
		"an unknown policy": {{Name: "a", Command: "x", Restart: "maybe"}},
		"needs nobody":      {{Name: "a", Command: "x", DependsOn: []string{"b"}}},
		"itself":            {{Name: "a", Command: "x", DependsOn: []string{"a"}}},
		"a circle":          {{Name: "a", Command: "x", DependsOn: []string{"b"}}, {Name: "b", Command: "x", DependsOn: []string{"a"}}},
		"ready in two ways": {{Name: "a", Command: "x", Ready: project.Readiness{Port: 1, Log: "x"}}},
		"no port":           {{Name: "a", Command: "x", Ready: project.Readiness{Port: 70000}}},
		"no pattern":        {{Name: "a", Command: "x", Ready: project.Readiness{Log: "("}}},
		"another machine":   {{Name: "a", Command: "x", Ready: project.Readiness{HTTP: "http://169.254.169.254/"}}},
		"a name like it":    {{Name: "a", Command: "x", Ready: project.Readiness{HTTP: "http://localhost.example.com/"}}},
		"a file":            {{Name: "a", Command: "x", Ready: project.Readiness{HTTP: "file:///etc/passwd"}}},
	} {
		_, err := project.OrderServices(all)
		require.ErrorIs(t, err, project.ErrArgument, name)
	}
	_, err := project.OrderServices([]project.Service{{Name: "a", Command: "x", Env: map[string]string{"LD_PRELOAD": "x"}}})
	require.ErrorIs(t, err, process.ErrEnv)
}
