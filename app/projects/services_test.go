package projects_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// stack is a project with services of every kind.
const stack = `
-- services.yaml --
services:
  web:
    command: sh serve.sh web
    env: {WHO: web}
    depends_on: [db]
    ready: {log: "^web is up"}
  db:
    command: sh serve.sh db
    ready: {log: "is up$"}
-- flaky.yaml --
services:
  flaky:
    command: sh flaky.sh
    restart: on-failure
    max_restarts: 5
    restart_delay_ms: 1
    ready: {log: "try 3"}
  hopeless:
    command: sh -c 'exit 7'
    restart: always
    max_restarts: 2
    restart_delay_ms: 1
-- late.yaml --
services:
  first:
    command: sh serve.sh first
  broken:
    command: sh -c 'echo no; exit 3'
    depends_on: [first]
    ready: {log: never}
-- swap.yaml --
services:
  first:
    command: sh swap.sh
    ready: {log: "is up"}
  second:
    command: sh later.sh
    depends_on: [first]
-- swap.sh --
echo ': > swapped' > later.sh; echo "first is up"
while :; do sleep 0.05; done
-- later.sh --
while :; do sleep 0.05; done
-- slow.yaml --
services:
  slow:
    command: sh serve.sh slow
    ready: {port: 1, timeout_ms: 50}
-- Procfile --
one: sh serve.sh one
-- serve.sh --
trap 'echo "$1 is down" >> ended; exit 0' TERM
echo $$ > "$1.pid"; echo "$1 $WHO" >> begun; echo "$1 is up"
while :; do sleep 0.05; done
-- flaky.sh --
echo x >> tries; echo "try $(wc -l < tries)"; [ "$(wc -l < tries)" -lt 3 ] && exit 1
while :; do sleep 0.05; done
`

// serviceStates returns the states of a file's services, by name.
func serviceStates(d *projectrig.Core, dir, file string) map[string]string {
	out := map[string]string{}
	for _, s := range d.Do("list_services", map[string]any{"projectPath": dir, "file": file})["services"].([]any) {
		s := s.(map[string]any)
		out[s["name"].(string)] = fmt.Sprint(s["status"])
	}
	return out
}

// TestServices: they start in order, each when its dependencies are ready, and stop in reverse.
func TestServices(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", stack)
	assert.Equal(t, map[string]string{"db": "not started", "web": "not started"}, serviceStates(d, dir, ""))
	o := d.Ask("services_up", map[string]any{"projectPath": dir})
	assert.Equal(t, "CONFIRMATION_PENDING", code(o))
	for _, shown := range []string{"sh serve.sh web", `"WHO":"web"`, "serve.sh db"} {
		assert.Contains(t, string(o.Request.Plan), shown)
	}
	d.Do("services_up", map[string]any{"projectPath": dir})
	assert.Equal(t, "db \nweb web\n", r.Read(dir, "begun"))
	assert.Equal(t, map[string]string{"db": "running", "web": "running"}, serviceStates(d.Fresh(), dir, ""), "every Countersign process sees them")
	d.Do("services_up", map[string]any{"projectPath": dir})
	assert.Equal(t, "db \nweb web\n", r.Read(dir, "begun"), "what runs is left alone")
	d.Do("services_up", map[string]any{"projectPath": dir, "names": []string{"web"}, "restart": true})
	assert.Equal(t, "db \nweb web\nweb web\n", r.Read(dir, "begun"))
	assert.Equal(t, "web is down\n", r.Read(dir, "ended"))
	d.Do("services_down", map[string]any{"projectPath": dir})
	assert.Equal(t, "web is down\nweb is down\ndb is down\n", r.Read(dir, "ended"))
	assert.NotContains(t, fmt.Sprint(serviceStates(d, dir, "")), "running")
	assert.True(t, gone(t, r, dir, "db.pid"))
	d.Do("services_up", map[string]any{"projectPath": dir, "file": "Procfile"})
	assert.Equal(t, map[string]string{"one": "running"}, serviceStates(d, dir, "Procfile"))
	d.Do("services_down", map[string]any{"projectPath": dir, "file": "Procfile", "names": []string{"one"}})
	for _, bad := range []map[string]any{{"file": "none.yaml"}, {"file": "../x"}, {"names": []string{"x"}}, {"restart": true}} {
		bad["projectPath"] = dir
		assert.Equal(t, "INVALID_ARGUMENT", code(d.Fresh().Ask("services_up", bad)), "%v", bad)
	}
}

// TestServicesThatFail: a service that ends is restarted as often as configured; if one is not ready in time, the services started with it are
// stopped.
func TestServicesThatFail(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", stack)
	d.Do("services_up", map[string]any{"projectPath": dir, "file": "flaky.yaml"})
	r.Soon(func() bool { return serviceStates(d.Fresh(), dir, "flaky.yaml")["hopeless"] == "failed" }, "it was started often enough")
	for _, s := range d.Do("list_services", map[string]any{"projectPath": dir, "file": "flaky.yaml"})["services"].([]any) {
		s := s.(map[string]any)
		assert.EqualValues(t, 2, s["restarts"], s["name"])
	}
	d.Do("services_down", map[string]any{"projectPath": dir, "file": "flaky.yaml"})

	o := d.Confirmed("services_up", map[string]any{"projectPath": dir, "file": "late.yaml"})
	assert.Equal(t, "EXECUTION_FAILED", code(o))
	assert.ErrorContains(t, o.Err, "service broken ended before it was ready")
	assert.True(t, gone(t, r, dir, "first.pid"))
	o = d.Confirmed("services_up", map[string]any{"projectPath": dir, "file": "swap.yaml"})
	assert.ErrorContains(t, o.Err, "what service second starts was changed since it was confirmed: the file ")
	assert.NoFileExists(t, dir+"/swapped")
	o = d.Confirmed("services_up", map[string]any{"projectPath": dir, "file": "slow.yaml"})
	assert.Equal(t, "EXECUTION_TIMEOUT", code(o))
	assert.True(t, gone(t, r, dir, "slow.pid"))
}

// TestServicesThatStay: they stop, the last started first, when the call that stays with them ends.
func TestServicesThatStay(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", stack)
	ctx, cancel := context.WithCancel(t.Context())
	c := asked(t, d, "services_up", map[string]any{"projectPath": dir, "attached": true})
	c.Progress = func(p tool.Progress) {
		if strings.HasPrefix(p.Message, "service web runs as bp_") {
			go func() {
				r.Soon(func() bool { return strings.Contains(r.Read(dir, "begun"), "web") }, "web runs")
				cancel()
			}()
		}
	}
	o := d.Call(ctx, c)
	require.Error(t, o.Err)
	assert.Equal(t, "web is down\ndb is down\n", r.Read(dir, "ended"))
	assert.True(t, gone(t, r, dir, "web.pid"))
}
