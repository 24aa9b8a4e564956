package sandboxfile_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/git"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// openStates makes a fresh place for records and returns a function that opens it, as often as it is called: each one is another manager.
type openStates func(t testing.TB) func() sandboxport.States

// states holds a States to its contract.
func states(t *testing.T, open openStates) {
	for name, test := range map[string]func(*testing.T, func() sandboxport.States){
		"BeginsEmpty":         beginsEmpty,
		"KeepsEveryField":     keepsEveryField,
		"ForgetsWhatGoes":     forgetsWhatGoes,
		"FailsWhole":          failsWhole,
		"LosesNoUpdate":       losesNoUpdate,
		"HandsOutCopies":      handsOutCopies,
		"RefusesNonsense":     refusesNonsense,
		"HoldsOneAtATime":     holdsOneAtATime,
		"HoldsProjectsApart":  holdsProjectsApart,
		"StopsWaiting":        stopsWaiting,
		"HoldsBesidesUpdates": holdsBesidesUpdates,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// url returns a clone URL for tests.
func url(t testing.TB, raw string) git.URL {
	t.Helper()
	url, err := git.ParseURL(raw)
	require.NoError(t, err)
	return url
}

// record returns a project of that URL with little in it.
func record(t testing.TB, raw string) sandbox.Project {
	url := url(t, raw)
	return sandbox.Project{
		URL: url, CloneURL: url.String(), Name: sandbox.ProjectName(url, nil), Server: sandbox.Server{Status: sandbox.Stopped}, Sandboxes: map[string]sandbox.Sandbox{},
	}
}

// put stores a project.
func put(t testing.TB, s sandboxport.States, p sandbox.Project) sandbox.State {
	t.Helper()
	state, err := s.Update(t.Context(), func(state *sandbox.State) error {
		state.Projects[p.URL.String()] = p
		return nil
	})
	require.NoError(t, err)
	return state
}

func beginsEmpty(t *testing.T, open func() sandboxport.States) {
	state, err := open().Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, sandbox.State{Gateway: sandbox.Gateway{Status: sandbox.Stopped}, Projects: map[string]sandbox.Project{}}, state)
}

// keepsEveryField fills every field there is, so that one that is added to the domain is not forgotten here.
func keepsEveryField(t *testing.T, open func() sandboxport.States) {
	url := url(t, "git@github.com:user/repo")
	p := sandbox.Project{}
	n := 0
	fill(reflect.ValueOf(&p).Elem(), &n)
	p.URL, p.Name, p.BaseDir, p.Server.Status = url, "user-repo", "/base", sandbox.Running
	p.Sandboxes = map[string]sandbox.Sandbox{}
	box := sandbox.Sandbox{}
	fill(reflect.ValueOf(&box).Elem(), &n)
	box.Name = "Fix-1"
	p.Sandboxes["fix-1"] = box
	want := sandbox.State{Projects: map[string]sandbox.Project{url.String(): p}}
	fill(reflect.ValueOf(&want.Gateway).Elem(), &n)
	want.Gateway.Status = sandbox.Failed

	got, err := open().Update(t.Context(), func(s *sandbox.State) error {
		*s = want
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, want, got, "Update returns what is recorded now")
	got, err = open().Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// fill gives every exported field below v a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 2, 11, 10, 0, *n, 123456789, time.UTC)))
		return
	case git.URL:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Elem().Kind() == reflect.String {
			v.SetMapIndex(reflect.ValueOf("KEY"), reflect.ValueOf("value"+strconv.Itoa(*n)))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.String:
		v.SetString("text <&> " + strconv.Itoa(*n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("a kind of field that the suite does not know: " + v.Type().String())
	}
}

func forgetsWhatGoes(t *testing.T, open func() sandboxport.States) {
	s := open()
	p := record(t, "git@github.com:user/repo")
	p.Doing = &sandbox.Operation{What: "create", Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p.Server = sandbox.Server{ProcessID: "p1", PID: 12, Port: 4113, Status: sandbox.Running, Version: "1"}
	p.Sandboxes["a"] = sandbox.Sandbox{Name: "A", Leases: map[string]string{"X": "1"}, StartCommand: "make"}
	p.Sandboxes["b"] = sandbox.Sandbox{Name: "b"}
	put(t, s, p)
	lean := p
	lean.Doing, lean.Server = nil, sandbox.Server{Status: sandbox.Stopped}
	lean.Sandboxes = map[string]sandbox.Sandbox{"a": {Name: "a"}}
	state := put(t, s, lean)
	assert.Equal(t, lean, state.Projects[p.URL.String()])
	state, err := s.Update(t.Context(), func(s *sandbox.State) error {
		delete(s.Projects, p.URL.String())
		return nil
	})
	require.NoError(t, err)
	assert.Empty(t, state.Projects)
	state, err = open().Load(t.Context())
	require.NoError(t, err)
	assert.Empty(t, state.Projects)
}

func failsWhole(t *testing.T, open func() sandboxport.States) {
	s := open()
	before := put(t, s, record(t, "git@github.com:user/repo"))
	reason := errors.New("no")
	_, err := s.Update(t.Context(), func(s *sandbox.State) error {
		clear(s.Projects)
		s.Gateway.PID = 9
		return reason
	})
	require.ErrorIs(t, err, reason)
	after, err := open().Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

// losesNoUpdate counts with sixteen goroutines over four managers.
func losesNoUpdate(t *testing.T, open func() sandboxport.States) {
	p := record(t, "git@github.com:user/repo")
	put(t, open(), p)
	managers := []sandboxport.States{open(), open(), open(), open()}
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			_, err := managers[i%4].Update(t.Context(), func(s *sandbox.State) error {
				record := s.Projects[p.URL.String()]
				record.Server.PID++
				name := fmt.Sprintf("box-%d", i)
				record.Sandboxes[name] = sandbox.Sandbox{Name: name}
				s.Projects[p.URL.String()] = record
				return nil
			})
			assert.NoError(t, err)
			_, err = managers[i%4].Load(t.Context())
			assert.NoError(t, err)
		})
	}
	wait.Wait()
	state, err := open().Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 16, state.Projects[p.URL.String()].Server.PID)
	assert.Len(t, state.Projects[p.URL.String()].Sandboxes, 16)
}

func handsOutCopies(t *testing.T, open func() sandboxport.States) {
	s := open()
	p := record(t, "git@github.com:user/repo")
	p.Sandboxes["a"] = sandbox.Sandbox{Name: "a"}
	state := put(t, s, p)
	delete(state.Projects[p.URL.String()].Sandboxes, "a")
	again, err := s.Load(t.Context())
	require.NoError(t, err)
	assert.Len(t, again.Projects[p.URL.String()].Sandboxes, 1)
}

// refusesNonsense: what could not be told apart, or read again, is not stored.
func refusesNonsense(t *testing.T, open func() sandboxport.States) {
	s := open()
	before := put(t, s, record(t, "git@github.com:user/repo"))
	twin := record(t, "git@gitlab.com:user/repo")
	for name, change := range map[string]func(*sandbox.State){
		"two projects of one name":  func(s *sandbox.State) { s.Projects[twin.URL.String()] = twin },
		"under another key":         func(s *sandbox.State) { s.Projects["git@x:y/z.git"] = twin },
		"a name that leads out":     func(s *sandbox.State) { p := twin; p.Name = "../x"; s.Projects[p.URL.String()] = p },
		"a relative base directory": func(s *sandbox.State) { p := twin; p.Name, p.BaseDir = "n", "rel"; s.Projects[p.URL.String()] = p },
		"a port out of range":       func(s *sandbox.State) { p := twin; p.Name, p.Server.Port = "n", 70000; s.Projects[p.URL.String()] = p },
		"a sandbox that is an option": func(s *sandbox.State) {
			p := twin
			p.Name, p.Sandboxes = "n", map[string]sandbox.Sandbox{"-x": {Name: "-x"}}
			s.Projects[p.URL.String()] = p
		},
		"a sandbox under another key": func(s *sandbox.State) {
			p := twin
			p.Name, p.Sandboxes = "n", map[string]sandbox.Sandbox{"A": {Name: "A"}}
			s.Projects[p.URL.String()] = p
		},
	} {
		_, err := s.Update(t.Context(), func(s *sandbox.State) error { change(s); return nil })
		require.Error(t, err, name)
	}
	after, err := open().Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func holdsOneAtATime(t *testing.T, open func() sandboxport.States) {
	url := url(t, "git@github.com:user/repo")
	managers := []sandboxport.States{open(), open()}
	var inside atomic.Int32
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			release, err := managers[i%2].Hold(t.Context(), url)
			if !assert.NoError(t, err) {
				return
			}
			assert.EqualValues(t, 1, inside.Add(1))
			_, err = managers[i%2].Load(t.Context()) // what is done with the project
			assert.NoError(t, err)
			inside.Add(-1)
			release()
			release() // twice is as good as once
		})
	}
	wait.Wait()
}

func holdsProjectsApart(t *testing.T, open func() sandboxport.States) {
	s := open()
	release, err := s.Hold(t.Context(), url(t, "git@github.com:user/one"))
	require.NoError(t, err)
	defer release()
	other, err := open().Hold(t.Context(), url(t, "git@github.com:user/two"))
	require.NoError(t, err)
	other()
}

func stopsWaiting(t *testing.T, open func() sandboxport.States) {
	s, url := open(), url(t, "git@github.com:user/repo")
	release, err := s.Hold(t.Context(), url)
	require.NoError(t, err)
	for _, manager := range []sandboxport.States{s, open()} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := manager.Hold(ctx, url)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	release()
	again, err := s.Hold(t.Context(), url)
	require.NoError(t, err, "whoever gave up left nothing behind")
	again()
}

func holdsBesidesUpdates(t *testing.T, open func() sandboxport.States) {
	s := open()
	p := record(t, "git@github.com:user/repo")
	release, err := s.Hold(t.Context(), p.URL)
	require.NoError(t, err)
	defer release()
	put(t, s, p) // whoever holds a project records what was done with it
}
