package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/domain/tool"
)

// client keeps what it is told.
type client struct {
	mu   sync.Mutex
	told []mcp.ProgressNotificationParams
	at   []time.Time
}

func (c *client) hear(p *mcp.ProgressNotificationParams) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told, c.at = append(c.told, *p), append(c.at, time.Now())
}

func (c *client) heard() (messages []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.told {
		messages = append(messages, p.Message)
	}
	return messages
}

// rising requires that every value is greater than the one before, as the protocol wants it.
func (c *client) rising(t *testing.T) {
	t.Helper()
	for i := 1; i < len(c.told); i++ {
		require.Greater(t, c.told[i].Progress, c.told[i-1].Progress, "%d: %+v", i, c.told)
	}
}

func open() (*mcpserver.Reporter, *client) {
	c := &client{}
	return mcpserver.NewReporter(json.RawMessage(`"t"`), c.hear), c
}

// TestEveryStepIsAnnounced, in order, however fast they follow each other, and before the answer.
func TestEveryStepIsAnnounced(t *testing.T) {
	r, c := open()
	var want []string
	for i := range int64(4) {
		want = append(want, fmt.Sprintf("step %d of 4", i+1))
		r.Report(tool.Progress{Done: i, Total: 4, Message: want[i]})
	}
	want = append(want, "done")
	r.Report(tool.Progress{Done: 4, Total: 4, Message: "done"})
	r.Stop()
	assert.Equal(t, want, c.heard())
	for i, p := range c.told {
		assert.InDelta(t, i, p.Progress, 0)
		assert.InDelta(t, 4, p.Total, 0)
	}
	r.Report(tool.Progress{Done: 9, Message: "too late"})
	assert.Len(t, c.heard(), 5, "nothing comes after the answer")
}

// TestAStepThatLastsIsAnnouncedMeanwhile: what came too early is sent when it may be, without another report.
func TestAStepThatLastsIsAnnouncedMeanwhile(t *testing.T) {
	r, c := open()
	defer r.Stop()
	r.Report(tool.Progress{Message: "quick"})
	r.Report(tool.Progress{Done: 1, Message: "long"})
	require.Eventually(t, func() bool { return len(c.heard()) == 2 }, time.Minute, time.Millisecond)
	assert.GreaterOrEqual(t, c.at[1].Sub(c.at[0]), 45*time.Millisecond, "at most twenty a second")
}

// TestAFloodOfNumbersIsItsNewest: reports that differ in their number alone are not worth telling one by one.
func TestAFloodOfNumbersIsItsNewest(t *testing.T) {
	r, c := open()
	for i := range int64(10_000) {
		r.Report(tool.Progress{Done: i, Total: 10_000, Message: "writing"})
	}
	r.Report(tool.Progress{Done: 3, Total: 10_000, Message: "writing"}) // came late
	r.Stop()
	assert.Less(t, len(c.told), 50)
	assert.InDelta(t, 9999, c.told[len(c.told)-1].Progress, 0)
	c.rising(t)
}

// TestNewsWithoutProgressRises too: a message may come without a number, or with a smaller one.
func TestNewsWithoutProgressRises(t *testing.T) {
	r, c := open()
	for i, n := range []int64{0, 0, 0, 5, 2, 2, 6} {
		r.Report(tool.Progress{Done: n, Message: fmt.Sprint("message ", i)})
	}
	r.Stop()
	require.Len(t, c.told, 7)
	assert.Zero(t, c.told[0].Progress)
	assert.InDelta(t, 5, c.told[3].Progress, 0)
	assert.InDelta(t, 6, c.told[6].Progress, 0)
	c.rising(t)
}

// TestAFloodOfMessagesIsBounded: the newest are told.
func TestAFloodOfMessagesIsBounded(t *testing.T) {
	r, c := open()
	for i := range 100_000 {
		r.Report(tool.Progress{Message: fmt.Sprint("message ", i)})
	}
	r.Stop()
	assert.Less(t, len(c.told), 200)
	assert.Equal(t, "message 99999", c.told[len(c.told)-1].Message)
	c.rising(t)
}

func TestWhoDoesNotAskIsNotTold(t *testing.T) {
	c := &client{}
	r := mcpserver.NewReporter(nil, c.hear)
	assert.False(t, r.Wanted())
	r.Report(tool.Progress{Message: "nobody listens"})
	r.Stop()
	assert.Empty(t, c.told)
}
