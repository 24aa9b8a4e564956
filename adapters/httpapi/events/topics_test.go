package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpapi/events"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/projectrig"
)

// heard is what a test has heard.
type heard struct {
	t      *testing.T
	events chan events.TopicUpdate
}

// overhear hears of the topics until the test ends.
func overhear(t *testing.T, of events.TopicWatcher) heard {
	t.Helper()
	h := heard{t, make(chan events.TopicUpdate)}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	of.Watch(ctx, &tasks, func(e events.TopicUpdate) bool {
		select {
		case h.events <- e:
			return true
		case <-ctx.Done():
			return false
		}
	})
	t.Cleanup(func() {
		cancel()
		tasks.Wait()
	})
	return h
}

func (h heard) next() (string, map[string]any) {
	h.t.Helper()
	select {
	case e := <-h.events:
		var data map[string]any
		require.NoError(h.t, json.Unmarshal(e.Data, &data), string(e.Data))
		return e.Kind, data
	case <-time.After(time.Minute):
		require.Fail(h.t, "nothing is heard")
	}
	return "", nil
}

// talker waits for a word before it goes on, so that a test knows what was printed when.
const talker = `-- package.json --
{"scripts":{"talk":"sh talk.sh"}}
-- talk.sh --
echo one
while [ ! -e go ]; do sleep 0.05; done
echo two >&2
i=0; while [ $i -lt 1200 ]; do echo "line $i 0123456789"; i=$((i+1)); done
head -c 20000 /dev/zero | tr '\0' x; echo
while [ ! -e end ]; do sleep 0.05; done
exit 3
`

// TestAProcess is heard from its first line to its end, and every line once.
func TestAProcess(t *testing.T) {
	r := projectrig.New(t)
	d := r.OpenCore(nil)
	dir, _ := d.Project("shop", talker)
	began := time.Now()
	var calls, most int
	var mu sync.Mutex
	ask := func(ctx context.Context, name tool.Name, args json.RawMessage) tool.Outcome {
		mu.Lock()
		calls++
		mu.Unlock()
		return d.Call(ctx, d.New(name, args))
	}
	all := overhear(t, events.TopicWatcher{Ask: ask, Processes: true})
	id := d.Do("run_npm_script", map[string]any{"projectPath": dir, "scriptName": "talk", "runInBackground": true})["process_id"].(string)
	kind, status := all.next()
	assert.Equal(t, events.TopicProcessStatus, kind)
	assert.Equal(t, id, status["processId"])
	assert.Equal(t, "talk", status["scriptName"])
	for status["status"] == "starting" {
		_, status = all.next()
	}
	assert.Equal(t, "running", status["status"])

	one := overhear(t, events.TopicWatcher{Ask: ask, Process: id})
	var lines []string
	var cut bool
	collect := func(until func() bool) (last map[string]any) {
		for !until() {
			kind, data := one.next()
			assert.Equal(t, id, data["processId"])
			if kind == events.TopicProcessStatus {
				return data
			}
			size := 0
			for _, l := range data["lines"].([]any) {
				lines = append(lines, l.(string))
				size += len(l.(string))
			}
			most = max(most, size)
			cut = cut || data["truncated"].(bool)
		}
		return nil
	}
	assert.Equal(t, "running", collect(func() bool { return false })["status"])
	assert.Equal(t, []string{"[stdout] one"}, lines)
	r.Write(dir, "go", "")
	collect(func() bool { return len(lines) >= 1203 })
	printed := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.HasPrefix(l, "[stderr]") })
	assert.Contains(t, lines, "[stderr] two")
	require.Len(t, printed, 1202)
	for i := range 1200 {
		require.Equal(t, fmt.Sprintf("[stdout] line %d 0123456789", i), printed[1+i])
	}
	assert.True(t, strings.HasPrefix(printed[1201], "[stdout] xxx"))
	assert.LessOrEqual(t, most, 8<<10)
	assert.True(t, cut)
	r.Write(dir, "end", "")
	end := collect(func() bool { return false })
	assert.Equal(t, "failed", end["status"])
	assert.EqualValues(t, 3, end["exitCode"])
	_, status = all.next()
	assert.Equal(t, "failed", status["status"])
	mu.Lock()
	defer mu.Unlock()
	assert.Less(t, calls, 100+int(time.Since(began)/(100*time.Millisecond)), "it is not asked all the time")
}

// TestWhatCannotBeReadIsSaidOnce, and not asked for any more.
func TestWhatCannotBeReadIsSaidOnce(t *testing.T) {
	d := projectrig.New(t).OpenCore(nil)
	var calls int
	h := overhear(t, events.TopicWatcher{Process: "run_00000000", Ask: func(ctx context.Context, name tool.Name, args json.RawMessage) tool.Outcome {
		calls++
		return d.Call(ctx, d.New(name, args))
	}})
	kind, data := h.next()
	assert.Equal(t, events.TopicUnreadable, kind)
	assert.Equal(t, "process", data["topic"])
	assert.NotEmpty(t, data["message"])
	select {
	case e := <-h.events:
		require.Fail(t, string(e.Data))
	case <-time.After(time.Second):
	}
	assert.Equal(t, 1, calls)
	silent := events.TopicWatcher{Process: "run_1"}
	var tasks sync.WaitGroup
	silent.Watch(t.Context(), &tasks, nil)
	tasks.Wait()
}
