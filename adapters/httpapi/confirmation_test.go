package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/confirm"
)

// ask has a call ask, and is its confirmation.
func (s *site) ask(name, what string) map[string]any {
	s.t.Helper()
	s.get(http.StatusPreconditionRequired, "POST /api/v1/tools/"+name, fmt.Sprintf(`{"name":%q}`, what), "")
	return s.asked()
}

func path(v map[string]any, verb string) string {
	return "POST /api/v1/confirmations/" + v["id"].(string) + "/" + verb
}

func shown(v map[string]any, more string) string {
	return fmt.Sprintf(`{"plan_hash":%q%s}`, v["plan_hash"], more)
}

// TestConfirmationsAreShown with all that the user has to know, to whoever may see their tools.
func TestConfirmationsAreShown(t *testing.T) {
	d := newDepot(t)
	v := d.ask("wipe", "Carthage")
	d.story("confirmations", [3]string{"GET /api/v1/confirmations", "", "person"}, [3]string{"GET /api/v1/confirmations/" + v["id"].(string), "", ""},
		[3]string{"GET /api/v1/confirmations", "", "narrow"}, [3]string{"GET /api/v1/confirmations/cf_aaaaaaaaaa", "", "person"})
	assert.Equal(t, false, d.get(200, "GET /api/v1/confirmations/"+v["id"].(string), "", "another program")["own"])
	assert.Equal(t, 404, d.send("GET /api/v1/confirmations/"+v["id"].(string), "", "narrow").status)
}

// TestOnlyAPersonAnswers: a program is told so, whatever it sends.
func TestOnlyAPersonAnswers(t *testing.T) {
	d := newDepot(t)
	v := d.ask("wipe", "x")
	for _, verb := range []string{"approve", "deny"} {
		for _, who := range []string{"", "another program", "narrow"} {
			assert.Equal(t, "approval_needs_person", problem(t, d.get(http.StatusForbidden, path(v, verb), shown(v, ""), who)))
		}
	}
	assert.Equal(t, "approval_needs_person", problem(t, d.get(http.StatusForbidden, "POST /api/v1/confirmations/cf_none/approve", `nonsense`, "")))
	assert.Equal(t, "pending", d.asked()["state"])
	tail, err := d.app.AuditTail(t.Context(), 10)
	require.NoError(t, err)
	for _, r := range tail {
		assert.NotEqual(t, "answer", string(r.Event.Phase))
	}
}

// TestWhatIsNoAnswer is refused, and the question stays.
func TestWhatIsNoAnswer(t *testing.T) {
	d := newDepot(t)
	v := d.ask("wipe", "x")
	for body, code := range map[string]string{``: "body_invalid", `{}`: "body_invalid", `[]`: "body_invalid", `{"plan_hash":"abc"}`: "body_invalid", shown(v, `,"confirm":true`): "body_invalid",
		shown(v, ``) + `{}`: "body_invalid", shown(v, `,"always":"yes"`): "body_invalid"} {
		assert.Equal(t, code, problem(t, d.get(400, path(v, "approve"), body, "person")), body)
	}
	assert.Equal(t, "body_invalid", problem(t, d.get(400, path(v, "deny"), fmt.Sprintf(`{"reason":%q}`, strings.Repeat("x", confirm.MaxReason+1)), "person")))
	assert.Equal(t, 415, d.send(path(v, "deny"), `{}`, "person", "Content-Type", "text/plain").status)
	assert.Equal(t, "confirmation_not_found", problem(t, d.get(404, "POST /api/v1/confirmations/cf_aaaaaaaaaa/approve", shown(v, ""), "person")))
	assert.Equal(t, "confirmation_not_found", problem(t, d.get(404, "POST /api/v1/confirmations/"+v["callId"].(string)+"/deny", `{}`, "person")), "it goes by its own id")
	assert.Equal(t, "pending", d.asked()["state"])
	assert.Equal(t, "approved", d.get(200, path(v, "approve"), shown(v, ""), "person")["state"])
}

// TestATypedNameIsHeldToTheLetter, three times at most.
func TestATypedNameIsHeldToTheLetter(t *testing.T) {
	d := newDepot(t)
	v := d.ask("raze", "Carthage")
	assert.Equal(t, "Carthage", v["target"])
	assert.Equal(t, "body_invalid", problem(t, d.get(400, path(v, "approve"), shown(v, `,"typed_value":"Carthage","always":true`), "person")), "always is not for this")
	assert.Equal(t, "confirm_typed_value_wrong", problem(t, d.get(422, path(v, "approve"), shown(v, ""), "person")))
	assert.Equal(t, "confirm_typed_value_wrong", problem(t, d.get(422, path(v, "approve"), shown(v, `,"typed_value":"carthage"`), "person")))
	assert.Equal(t, "approved", d.get(200, path(v, "approve"), shown(v, `,"typed_value":"Carthage"`), "another person")["state"], "a wrong name is no answer")

	v = d.ask("raze", "Rome")
	for range confirm.MaxMisses - 1 {
		d.get(422, path(v, "approve"), shown(v, `,"typed_value":"x"`), "person")
	}
	assert.Equal(t, "confirmation_closed", problem(t, d.get(409, path(v, "approve"), shown(v, `,"typed_value":"x"`), "person")))
	e := d.get(409, path(v, "approve"), shown(v, `,"typed_value":"Rome"`), "person")["error"].(map[string]any)
	assert.Equal(t, "confirmation_closed", e["code"])
	assert.Equal(t, "mistyped", e["details"].(map[string]any)["reason"])
}

// TestAPageThatIsOutOfDate is refused and shows the difference.
func TestAPageThatIsOutOfDate(t *testing.T) {
	d := newDepot(t)
	v := d.ask("wipe", "x")
	other := "sha256:" + strings.Repeat("ab", 32)
	e := d.get(409, path(v, "approve"), fmt.Sprintf(`{"plan_hash":%q}`, other), "person")["error"].(map[string]any)
	assert.Equal(t, "confirmation_outdated", e["code"])
	assert.Equal(t, map[string]any{"current_plan_hash": v["plan_hash"], "confirmed_plan_hash": other}, e["details"])
	assert.Equal(t, "pending", d.asked()["state"], "what waits is not what was shown, and waits on")

	d.set("as it has become")
	e = d.get(409, path(v, "approve"), shown(v, ""), "person")["error"].(map[string]any)
	assert.Equal(t, "confirmation_outdated", e["code"])
	details := e["details"].(map[string]any)
	assert.Equal(t, v["plan_hash"], details["confirmed_plan_hash"])
	assert.Equal(t, []any{map[string]any{"path": "$.about", "before": "as it is", "after": "as it has become"}}, details["differences"])
	e = d.get(409, path(v, "approve"), shown(v, ""), "person")["error"].(map[string]any)
	assert.Equal(t, "context_changed", e["details"].(map[string]any)["reason"], "the question is withdrawn")
	assert.Equal(t, "completed", d.carried(d.ask("wipe", "x")), "and a new one is about what there is")
}

// carried approves and repeats the call, and is how it ended.
func (d *fixture) carried(v map[string]any) string {
	d.t.Helper()
	d.get(200, path(v, "approve"), shown(v, ""), "person")
	d.get(200, "POST /api/v1/tools/wipe", `{"name":"x"}`, "")
	return d.get(200, "GET /api/v1/tool-calls/"+v["id"].(string), "", "")["status"].(string)
}

// TestOneOfTwoWins, and the other is told who did.
func TestOneOfTwoWins(t *testing.T) {
	d := newDepot(t)
	for range 10 {
		v := d.ask("wipe", "x")
		answers := map[string]reply{}
		var mu sync.Mutex
		var both sync.WaitGroup
		for _, who := range []string{"person", "another person"} {
			both.Go(func() {
				r := d.send(path(v, "approve"), shown(v, ""), who)
				mu.Lock()
				defer mu.Unlock()
				answers[who] = r
			})
		}
		both.Wait()
		winner, loser, by := answers["person"], answers["another person"], "console key_ada"
		if winner.status != 200 {
			winner, loser, by = loser, winner, "console key_bob"
		}
		require.Equal(t, 200, winner.status, string(winner.body))
		require.Equal(t, 409, loser.status, string(loser.body))
		e := object(t, loser.body)["error"].(map[string]any)
		assert.Equal(t, "confirmation_answered", e["code"])
		assert.Equal(t, by, e["details"].(map[string]any)["answered_by"])
		d.get(200, "POST /api/v1/tools/wipe", `{"name":"x"}`, "")
	}
}

// TestALateAnswerIsToldWhatBecameOfIt.
func TestALateAnswerIsToldWhatBecameOfIt(t *testing.T) {
	d := newDepot(t)
	late := func(v map[string]any, code, state, reason string) {
		t.Helper()
		for _, verb := range []string{"approve", "deny"} {
			body := shown(v, "")
			if verb == "deny" {
				body = ""
			}
			e := d.get(409, path(v, verb), body, "another person")["error"].(map[string]any)
			details := e["details"].(map[string]any)
			assert.Equal(t, code, e["code"], e["message"])
			assert.Equal(t, state, details["state"])
			if reason != "" {
				assert.Equal(t, reason, details["reason"])
			}
		}
	}
	v := d.ask("wipe", "denied")
	d.get(200, path(v, "deny"), `{"reason":"no"}`, "person")
	late(v, "confirmation_answered", "denied", "user_denied")
	v = d.ask("wipe", "approved")
	d.get(200, path(v, "approve"), shown(v, ""), "person")
	late(v, "confirmation_answered", "approved", "")
	d.get(200, path(v, "approve"), shown(v, ""), "person") // who says the same again is not told that another process was faster
	v = d.ask("wipe", "expired")
	d.clock.Advance(confirm.QuestionTTL)
	late(v, "confirmation_closed", "ended", "expired")
	v = d.ask("wipe", "canceled")
	d.get(200, path(v, "cancel"), ``, "")
	late(v, "confirmation_closed", "ended", "cancelled_by_client")
}

// TestOnlyItsOwnSessionCancels a question.
func TestOnlyItsOwnSessionCancels(t *testing.T) {
	d := newDepot(t)
	v := d.ask("wipe", "x")
	r := d.send(path(v, "cancel"), `{}`, "another program")
	assert.NotEqual(t, 200, r.status)
	assert.Equal(t, "pending", d.asked()["state"])
	assert.Equal(t, 400, d.send(path(v, "cancel"), `{"force":true}`, "").status)
	assert.Equal(t, true, d.get(200, path(v, "cancel"), `{}`, "")["canceled"])
	assert.EqualValues(t, 0, d.get(200, "GET /api/v1/confirmations", "", "person")["count"])
}

// TestAlwaysHoldsForTheSession that asked, and for no other.
func TestAlwaysHoldsForTheSession(t *testing.T) {
	d := newDepot(t)
	v := d.ask("wipe", "x")
	assert.Equal(t, true, v["lasting"])
	d.get(200, path(v, "approve"), shown(v, `,"always":true`), "person")
	for range 2 {
		d.get(200, "POST /api/v1/tools/wipe", `{"name":"x"}`, "")
	}
	d.get(http.StatusPreconditionRequired, "POST /api/v1/tools/wipe", `{"name":"something else"}`, "")
	d.get(http.StatusPreconditionRequired, "POST /api/v1/tools/wipe", `{"name":"x"}`, "another program")
}

// TestAlwaysIsListedAndRevoked: to whoever may see the tool, and by users only.
func TestAlwaysIsListedAndRevoked(t *testing.T) {
	d := newDepot(t)
	assert.Equal(t, map[string]any{"count": 0.0, "grants": []any{}}, d.get(200, "GET /api/v1/grants", "", "person"))
	v := d.ask("wipe", "x")
	id := v["id"].(string)
	d.get(200, path(v, "approve"), shown(v, `,"always":true`), "person")
	assert.Equal(t, []string{id}, names(d.get(200, "GET /api/v1/grants", "", ""), "grants", "id"))
	assert.EqualValues(t, 0, d.get(200, "GET /api/v1/grants", "", "narrow")["count"])
	d.story("grants", [3]string{"GET /api/v1/grants", "", "person"}, [3]string{"DELETE /api/v1/grants/" + id, "", ""}, [3]string{"DELETE /api/v1/grants/" + id, "", "person"},
		[3]string{"DELETE /api/v1/grants/" + id, "", "person"}, [3]string{"DELETE /api/v1/grants", "", "person"}, [3]string{"GET /api/v1/grants", "", "person"})
	d.get(200, "POST /api/v1/tools/wipe", `{"name":"x"}`, "")
	d.get(http.StatusPreconditionRequired, "POST /api/v1/tools/wipe", `{"name":"something else"}`, "")
}
