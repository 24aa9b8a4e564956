package notice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/notice"
)

var noon = time.Date(2026, time.March, 4, 12, 0, 0, 0, time.UTC)

func question(id string, asked time.Time) notice.Question {
	return notice.Question{ID: id, Tool: "run_script", Risk: "high", About: "shop", AskedAt: asked, ExpiresAt: asked.Add(24 * time.Hour)}
}

func rules() notice.Rules {
	return notice.Rules{Reminder: time.Hour, PerMinute: 3, Link: func(id string) string { return "http://localhost:1/approvals/" + id }}
}

func titles(all []notice.Message) (out []string) {
	for _, m := range all {
		out = append(out, m.Title)
	}
	return out
}

// TestAQuestionIsToldOfOnceInEachKind: when it is opened, an hour before it runs out, and when it has run out.
func TestAQuestionIsToldOfOnceInEachKind(t *testing.T) {
	var b notice.DeliveryLog
	all := []notice.Question{question("q1", noon)}
	look := func(after time.Duration) []string { return titles(b.Due(rules(), all, noon.Add(after), nil)) }
	assert.Equal(t, []string{"Approval needed: run_script in shop (high risk)"}, look(0))
	assert.Empty(t, look(0))
	assert.Empty(t, look(23*time.Hour-time.Second))
	assert.Equal(t, []string{"Still waiting: run_script in shop (high risk)"}, look(23*time.Hour))
	assert.Empty(t, look(24*time.Hour-time.Second))
	assert.Equal(t, []string{"Expired: run_script in shop (high risk)"}, look(24*time.Hour))
	assert.Empty(t, look(30*time.Hour))
}

func TestWhatIsDecidedIsNotToldOfAgain(t *testing.T) {
	var b notice.DeliveryLog
	require.Len(t, b.Due(rules(), []notice.Question{question("q1", noon)}, noon, nil), 1)
	assert.Empty(t, b.Due(rules(), nil, noon.Add(23*time.Hour), nil))
	assert.Empty(t, b.Told, "nothing is kept of it")
}

// TestWhatNobodyWasToldOfExpiresInSilence, too.
func TestWhatNobodyWasToldOfExpiresInSilence(t *testing.T) {
	var b notice.DeliveryLog
	assert.Empty(t, b.Due(rules(), []notice.Question{question("q1", noon.Add(-25*time.Hour))}, noon, nil))
}

func TestAReminderComesHalfwayThroughAShortWait(t *testing.T) {
	var b notice.DeliveryLog
	q := question("q1", noon)
	q.ExpiresAt = noon.Add(time.Hour) // the client that asked is gone
	look := func(after time.Duration) int {
		return len(b.Due(rules(), []notice.Question{q}, noon.Add(after), nil))
	}
	assert.Equal(t, 1, look(0))
	assert.Zero(t, look(30*time.Minute-time.Second))
	assert.Equal(t, 1, look(30*time.Minute))
	none := rules()
	none.Reminder = 0
	var other notice.DeliveryLog
	require.Len(t, other.Due(none, []notice.Question{q}, noon, nil), 1)
	assert.Empty(t, other.Due(none, []notice.Question{q}, noon.Add(59*time.Minute), nil), "switched off")
}

// TestAFloodIsAFewMessagesAndOneSummary a minute.
func TestAFloodIsAFewMessagesAndOneSummary(t *testing.T) {
	var b notice.DeliveryLog
	var all []notice.Question
	for i := range 40 {
		all = append(all, question(fmt.Sprint("q", i), noon))
	}
	assert.Len(t, b.Due(rules(), all, noon, nil), 3)
	assert.Empty(t, b.Due(rules(), all, noon.Add(notice.RateWindow-1), nil))
	all = append(all[:30], question("q99", noon.Add(30*time.Second))) // ten were answered, and one came
	more := b.Due(rules(), all, noon.Add(notice.RateWindow), nil)
	require.Len(t, more, 1)
	assert.Equal(t, "28 new requests", more[0].Title)
	assert.Equal(t, notice.Summary, more[0].Kind)
	assert.Equal(t, "http://localhost:1/approvals/", more[0].Link)
	assert.Empty(t, b.Due(rules(), all, noon.Add(2*notice.RateWindow), nil), "once")
}

func TestAPersonWhoAskedIsLeftInPeaceForAMinute(t *testing.T) {
	q := question("q1", noon)
	q.ByHand = true
	var b notice.DeliveryLog
	assert.Empty(t, b.Due(rules(), []notice.Question{q}, noon.Add(notice.GracePeriod-1), nil))
	assert.Len(t, b.Due(rules(), []notice.Question{q}, noon.Add(notice.GracePeriod), nil), 1)
	var other notice.DeliveryLog
	assert.Len(t, other.Due(rules(), []notice.Question{q}, noon, func(id string) bool { return id == "q1" }), 1, "the process has left it open")
}

// TestNamesAreNames: what somebody calls a project is no markup, no link, and no line of its own.
func TestNamesAreNames(t *testing.T) {
	q := question("q1", noon)
	q.About = "<!channel> @everyone [click](http://evil.test)\r\nBcc: me\u202e*_`~ ümläut"
	var b notice.DeliveryLog
	m := b.Due(rules(), []notice.Question{q}, noon, nil)[0]
	assert.Equal(t, "Approval needed: run_script in channel everyone clickhttp//evil.test Bcc me_ ümläut (high risk)", m.Title)
	assert.LessOrEqual(t, len([]rune(notice.PlainName(strings.Repeat("long ", 100)))), 61)
}

func TestWithoutAConsoleTheWayIsACommand(t *testing.T) {
	var b notice.DeliveryLog
	m := b.Due(notice.Rules{}, []notice.Question{question("q1", noon)}, noon, nil)[0]
	assert.Empty(t, m.Link)
	assert.Contains(t, m.Text, "countersign approvals")
}

func TestAChannelsFailuresAreCountedUntilOneArrives(t *testing.T) {
	var b notice.DeliveryLog
	b.Note("ntfy", "it is away", noon)
	b.Note("ntfy", "it is still away", noon.Add(time.Minute))
	assert.Equal(t, notice.ChannelStatus{FailedAt: noon.Add(time.Minute), Failures: 2, Failure: "it is still away"}, b.Channels["ntfy"])
	b.Note("ntfy", "", noon.Add(time.Hour))
	assert.Equal(t, notice.ChannelStatus{SentAt: noon.Add(time.Hour)}, b.Channels["ntfy"])
}
