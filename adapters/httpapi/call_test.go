package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/audit"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

// TestEveryContractAnswersInItsOwnForm: what went well, and what did not, under the status of its kind.
func TestEveryContractAnswersInItsOwnForm(t *testing.T) {
	s := home(t, nil)
	s.story("contracts",
		[3]string{"POST /api/v1/tools/list_projects", `{}`},
		[3]string{"POST /api/v1/tools/list_projects", ``},
		[3]string{"POST /api/v1/tools/create_workflow", `{"name":"build"}`},
		[3]string{"POST /api/v1/tools/get_workflow", `{"workflow_id":"wf_none"}`},
		[3]string{"POST /api/v1/tools/get_workflow", `{"workflow_id":7,"extra":true}`},
		[3]string{"POST /api/v1/tools/input", `{"action":"list"}`},
		[3]string{"POST /api/v1/tools/input", `{"action":"get","id":"pk_aaaaaaaa"}`},
		[3]string{"POST /api/v1/tools/input", `{"action":"frobnicate"}`},
		[3]string{"POST /api/v1/tools/status", `{"repo":"/nowhere"}`},
		[3]string{"POST /api/v1/tools/rollback", `{"to":"initial"}`},
		[3]string{"POST /api/v1/tools/opencode_project_list", `{}`},
		[3]string{"POST /api/v1/tools/opencode_project_status", `{"git_url":"https://example.org/none.git"}`},
		[3]string{"POST /api/v1/tools/amof_list_runs", `{}`},
		[3]string{"POST /api/v1/tools/amof_get_run_status", `{"run_id":"abcdef123456"}`},
		[3]string{"POST /api/v1/tools/amof_create_ecosystem", `{"name":"demo"}`},
		[3]string{"POST /api/v1/tools/amof_create_ecosystem", `{"name":"demo","repos":[{"name":"api","url":"/srv/api","branch":"main"}]}`},
		[3]string{"POST /api/v1/tools/input", `{"action":"create","name":"p","title":"P","ttl_minutes":5}`},
		[3]string{"POST /api/v1/tools/input", `{"action":"set_meta","name":"p","title":"Q","expected_revision":9}`},
		[3]string{"POST /api/v1/tools/set_mode", `{"mode":"plan"}`, "another program"},
		[3]string{"POST /api/v1/tools/create_workflow", `{"name":"build"}`, "another program"},
		[3]string{"POST /api/v1/tools/set_mode", `{"mode":"fly"}`},
		[3]string{"POST /api/v1/tools/list_toolsets", `{"nothing":1}`},
	)
}

// TestWhatIsNoCall is refused before, or in the tool's contract where it is a matter of arguments.
func TestWhatIsNoCall(t *testing.T) {
	s := home(t, nil)
	s.story("nocall",
		[3]string{"POST /api/v1/tools/nothing_such", `{}`},
		[3]string{"POST /api/v1/tools/deploy", `{}`, "narrow"},
		[3]string{"POST /api/v1/tools/project_add", `{"path":"/"}`},
		[3]string{"POST /api/v1/tools/create_workflow", `{"name":"x"}`, "reader"},
		[3]string{"POST /api/v1/tools/list_projects", `[]`},
		[3]string{"POST /api/v1/tools/list_projects", `null`},
		[3]string{"POST /api/v1/tools/list_projects", `{"a":`},
		[3]string{"POST /api/v1/tools/list_projects", `{} {}`},
		[3]string{"POST /api/v1/tools/get_policy", `"x"`},
		[3]string{"POST /api/v1/tools/get_policy?wait=long", `{}`},
		[3]string{"POST /api/v1/tools/get_policy?wait=-1s", `{}`},
		[3]string{"DELETE /api/v1/tools/get_policy", ``},
		[3]string{"PUT /api/v1/tools", `{}`},
		[3]string{"GET /api/v1/nothing", ``},
		[3]string{"GET /api/v1/tools/", ``},
		[3]string{"GET /api/v1", ``},
		[3]string{"GET /api/v2/tools", ``},
	)
	for media, want := range map[string]int{"application/json": 200, "application/json; charset=UTF-8": 200, "Application/JSON": 200, "text/plain": 415, "application/x-www-form-urlencoded": 415,
		"application/json; charset=latin1": 415, "": 415, "nonsense;;": 415} {
		r := s.send("POST /api/v1/tools/get_policy", `{}`, "", "Content-Type", media)
		assert.Equal(t, want, r.status, media)
		if want != 200 {
			assert.Equal(t, "content_type_unsupported", problem(t, object(t, r.body)))
		}
	}
	assert.Equal(t, 415, s.send("POST /api/v1/tools/get_policy", `{}`, "", "Content-Encoding", "gzip").status)
	long := s.send("POST /api/v1/tools/get_policy", `{"x":"`+strings.Repeat("y", 5<<20)+`"}`, "")
	assert.Equal(t, http.StatusRequestEntityTooLarge, long.status)
	assert.Equal(t, "body_too_long", problem(t, object(t, long.body)))
	assert.NotContains(t, string(s.send("GET /api/v1/"+strings.Repeat("a", 4000), "", "").body), strings.Repeat("a", 400))
}

// TestOddTextPasses unharmed: NUL, separators that end lines in JavaScript, invalid UTF-8, and much of it.
func TestOddTextPasses(t *testing.T) {
	d := newDepot(t)
	for _, name := range []string{"\x00", "\u2028\u2029", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "</script>&", strings.Repeat("long", 200<<8)} {
		args, err := json.Marshal(target{name})
		require.NoError(t, err)
		r := d.send("POST /api/v1/tools/look", string(args), "")
		require.Equal(t, 200, r.status)
		var got target
		require.NoError(t, json.Unmarshal(r.body, &got))
		assert.Equal(t, name, got.Name)
	}
	r := d.send("POST /api/v1/tools/look", "{\"name\":\"\xff\xfe\"}", "")
	require.Equal(t, 200, r.status)
	assert.True(t, json.Valid(r.body))
	assert.Equal(t, 400, d.send("POST /api/v1/tools/look", "{\"name\":\"\x00\"}", "").status)
	r = d.send("POST /api/v1/tools/%00%ff", "{}", "")
	assert.Equal(t, 404, r.status)
	assert.True(t, json.Valid(r.body))
}

// TestArgumentsThatAreNoJSONAreRecorded with the calls about them: nobody wipes a record out by what cannot be written into one.
func TestArgumentsThatAreNoJSONAreRecorded(t *testing.T) {
	d := newDepot(t)
	want := map[string]int{}
	for _, body := range []string{"{", "{} {}", "{\"name\":\xff}", "\xff", "["} {
		good := d.send("POST /api/v1/tools/look", `{"name":"a"}`, "")
		require.Equal(t, 200, good.status)
		bad := d.send("POST /api/v1/tools/look", body, "")
		require.Equal(t, 400, bad.status, body)
		want[good.header.Get("X-Call-Id")]++
		want[bad.header.Get("X-Call-Id")]++
	}
	assert.Len(t, want, 10)
	require.Eventually(t, func() bool {
		records, err := d.app.AuditTail(t.Context(), 100)
		got := map[string]int{}
		for _, r := range records {
			got[r.Event.CallID]++
		}
		return err == nil && assert.ObjectsAreEqual(want, got)
	}, time.Minute, 10*time.Millisecond)
}

// TestEveryAnswerHasItsHeaders: the id of the call is that of its record.
func TestEveryAnswerHasItsHeaders(t *testing.T) {
	d := newDepot(t)
	r := d.send("POST /api/v1/tools/wipe", `{"name":"x"}`, "")
	require.Equal(t, http.StatusPreconditionRequired, r.status)
	id := r.header.Get("X-Call-Id")
	assert.Equal(t, id, d.get(200, "GET /api/v1/tool-calls/"+id, "", "")["callId"])
	for _, request := range []string{"GET /api/v1/tools", "GET /api/v1/nothing", "GET /api/v1/settings"} {
		r := d.send(request, "", "")
		assert.Equal(t, "application/json", r.header.Get("Content-Type"))
		assert.Equal(t, "no-store", r.header.Get("Cache-Control"))
		assert.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
	}
	head := d.send("HEAD /api/v1/tools", "", "")
	assert.Equal(t, 200, head.status)
	assert.Empty(t, head.body)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.site.mu.Lock()
	defer d.site.mu.Unlock()
	assert.Equal(t, 1, d.observed["POST /api/v1/tools/{name} 428"], "routes are counted by their pattern")
	assert.Equal(t, 1, d.observed["unknown 404"])
}

// TestTooManyCallsAreToldWhenToComeAgain.
func TestTooManyCallsAreToldWhenToComeAgain(t *testing.T) {
	d := newDepot(t)
	var r reply
	for range 2001 {
		if r = d.send("POST /api/v1/tools/look", `{"name":"x"}`, ""); r.status != 200 {
			break
		}
	}
	assert.Equal(t, http.StatusServiceUnavailable, r.status)
	assert.Equal(t, "1", r.header.Get("Retry-After"))
	assert.Equal(t, "rate_limited", object(t, r.body)["code"])
}

// calling calls a tool and hands over its answer when there is one.
func (s *site) calling(request, body string, headers ...string) <-chan reply {
	answered := make(chan reply, 1)
	go func() { answered <- s.send(request, body, "", headers...) }()
	return answered
}

// TestACallWaitsForAPerson and goes on with what the user said, in its own record.
func TestACallWaitsForAPerson(t *testing.T) {
	for name, headers := range map[string][]string{"?wait=10m": nil, "?wait=600": nil, "": {"X-Confirm-Wait", "10m"}} {
		d := newDepot(t)
		answered := d.calling("POST /api/v1/tools/wipe"+name, `{"name":"Carthage"}`, headers...)
		v := d.asked()
		d.get(200, "POST /api/v1/confirmations/"+v["id"].(string)+"/approve", fmt.Sprintf(`{"plan_hash":%q}`, v["plan_hash"]), "person")
		r := <-answered
		require.Equal(t, 200, r.status, string(r.body))
		assert.JSONEq(t, `{"wipe":"Carthage","about":"as it is"}`, string(r.body))
		calls := d.get(200, "GET /api/v1/tool-calls", "", "")["toolCalls"].([]any)
		require.Len(t, calls, 1, "question and execution are one call")
		call := calls[0].(map[string]any)
		assert.Equal(t, r.header.Get("X-Call-Id"), call["callId"])
		assert.Equal(t, "completed", call["status"])
		assert.Equal(t, "console key_ada", call["decisionSource"])
	}
}

// TestADenialIsToldToTheCaller, with what the user said.
func TestADenialIsToldToTheCaller(t *testing.T) {
	d := newDepot(t)
	answered := d.calling("POST /api/v1/tools/wipe?wait=10m", `{"name":"Carthage"}`)
	d.get(200, "POST /api/v1/confirmations/"+d.asked()["id"].(string)+"/deny", `{"reason":"not today"}`, "person")
	r := <-answered
	require.Equal(t, http.StatusForbidden, r.status)
	assert.Contains(t, string(r.body), "the user denied this call: not today")
}

// TestNobodyAnswers: the call says that it waits, its question stays, and it passes when it is repeated after an approval.
func TestNobodyAnswers(t *testing.T) {
	d := newDepot(t)
	began := time.Now()
	r := d.send("POST /api/v1/tools/wipe?wait=200ms", `{"name":"x"}`, "")
	assert.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	require.Equal(t, http.StatusPreconditionRequired, r.status)
	v := d.asked()
	d.get(200, "POST /api/v1/confirmations/"+v["id"].(string)+"/approve", fmt.Sprintf(`{"plan_hash":%q}`, v["plan_hash"]), "person")
	d.get(200, "POST /api/v1/tools/wipe", `{"name":"x"}`, "")

	waiting := d.calling("POST /api/v1/tools/wipe?wait=1h", `{"name":"y"}`)
	d.asked()
	d.clock.Advance(confirm.QuestionTTL)
	r = <-waiting
	assert.Equal(t, http.StatusPreconditionRequired, r.status)
	assert.Contains(t, string(r.body), "confirm_token_expired", "time-outs deny")
}

// TestAClientThatGoesAwayLeavesItsQuestion standing: the user may still answer it.
func TestAClientThatGoesAwayLeavesItsQuestion(t *testing.T) {
	d := newDepot(t)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+"/api/v1/tools/wipe?wait=10m", bytes.NewReader([]byte(`{"name":"x"}`)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	over := make(chan error, 1)
	go func() {
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Body.Close()
		}
		over <- err
	}()
	v := d.asked()
	require.Eventually(t, func() bool {
		found, err := d.app.AuditSearch(t.Context(), audit.Filter{Tool: "wipe", Phase: audit.Outcome})
		return err == nil && len(found) == 1
	}, time.Minute, time.Millisecond, "the call has asked, and waits")
	leave()
	require.Error(t, <-over)
	require.Eventually(t, func() bool {
		d.site.mu.Lock()
		defer d.site.mu.Unlock()
		return d.observed["POST /api/v1/tools/{name} 428"] == 1
	}, time.Minute, time.Millisecond, "the server has let go of it")
	d.get(200, "POST /api/v1/confirmations/"+v["id"].(string)+"/approve", fmt.Sprintf(`{"plan_hash":%q}`, v["plan_hash"]), "person")
	d.get(200, "POST /api/v1/tools/wipe", `{"name":"x"}`, "")
}

// TestSixteenClients call at once, each in its own session's name, and nothing gets mixed up.
func TestSixteenClients(t *testing.T) {
	d := newDepot(t)
	var all sync.WaitGroup
	for client := range 16 {
		all.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("%d/%d", client, i)
				r := d.send("POST /api/v1/tools/look", fmt.Sprintf(`{"name":%q}`, name), "")
				assert.Equal(t, 200, r.status)
				assert.JSONEq(t, fmt.Sprintf(`{"name":%q}`, name), string(r.body))
			}
		})
	}
	all.Wait()
}

// TestABlockedToolIsDenied, for the caller.
func TestABlockedToolIsDenied(t *testing.T) {
	d := newDepot(t)
	person.Settings(t, d.app, func(s *app.Settings) error {
		s.Tools = map[string]policy.Setting{"wipe": policy.Blocked}
		return nil
	})
	v := d.get(http.StatusForbidden, "POST /api/v1/tools/wipe", `{"name":"x"}`, "person")
	assert.Equal(t, "policy_denied", v["code"])
	assert.Equal(t, map[string]any{"verdict": "deny", "rule": "tool_blocked", "mode": "execute", "strength": "simple"}, d.get(200, "GET /api/v1/tools/wipe", "", "")["decision"])
}

// TestATokenGoesBackToTheCaller where policy has the host ask: in a header, and beside what packageflow's envelope has. Where only users
// confirm, nobody gets one.
func TestATokenGoesBackToTheCaller(t *testing.T) {
	s := home(t, nil)
	r := s.send("POST /api/v1/tools/create_workflow", `{"name":"build"}`, "")
	require.Equal(t, http.StatusPreconditionRequired, r.status)
	token := r.header.Get("X-Confirm-Token")
	require.NotEmpty(t, token)
	asked := s.get(http.StatusPreconditionRequired, "POST /api/v1/tools/create_workflow", `{"name":"build"}`, "")
	assert.NotEmpty(t, asked["confirmation"].(map[string]any)["confirm_token"], "the body has what its error speaks of")
	assert.Equal(t, `create workflow "build"`, asked["confirmation"].(map[string]any)["prompt"])
	assert.NotContains(t, asked["confirmation"].(map[string]any)["plan"], "context", "which stands beside it")
	v := s.get(200, "GET /api/v1/confirmations/"+r.header.Get("X-Confirmation-Id"), "", "")
	assert.Equal(t, "create workflow \"build\"", v["prompt"])
	assert.Equal(t, true, v["own"])
	done := s.get(200, "POST /api/v1/tools/create_workflow", fmt.Sprintf(`{"name":"build","confirm_token":%q}`, token), "")
	assert.Equal(t, true, done["success"])
	assert.Equal(t, http.StatusPreconditionRequired, s.send("POST /api/v1/tools/create_workflow", fmt.Sprintf(`{"name":"build","confirm_token":%q}`, token), "").status, "it is good for one call")

	h := home(t, humanOnly)
	r = h.send("POST /api/v1/tools/create_workflow", `{"name":"build"}`, "")
	require.Equal(t, http.StatusPreconditionRequired, r.status)
	assert.Empty(t, r.header.Get("X-Confirm-Token"))
	assert.NotEmpty(t, r.header.Get("X-Confirmation-Id"))
}

// TestATokenIsNoConsent: where users approve, whatever a program repeats of what it was given runs nothing.
func TestATokenIsNoConsent(t *testing.T) {
	s := home(t, humanOnly)
	args := `"name":"shop","repos":[{"name":"api","url":"https://example.com/api.git"}],"mode":"execute"`
	first := s.send("POST /api/v1/tools/amof_create_ecosystem", `{`+args+`}`, "")
	id := first.header.Get("X-Confirmation-Id")
	require.NotEmpty(t, id, string(first.body))
	token := first.header.Get("X-Confirm-Token")
	require.NotEmpty(t, token, "the contract's token names the plan")
	for _, body := range []string{`{` + args + `}`, `{` + args + `,"confirm_token":"` + token + `"}`, `{` + args + `,"confirm_token":"` + token + `","typed_value":"shop"}`} {
		r := s.send("POST /api/v1/tools/amof_create_ecosystem", body, "", "X-Confirm-Token", token)
		assert.Equal(t, id, r.header.Get("X-Confirmation-Id"), "it is the same question: %s", r.body)
		assert.NotEqual(t, 200, r.status, string(r.body))
	}
	for _, tool := range []string{"confirm", "amof_confirm"} {
		assert.NotEqual(t, 200, s.send("POST /api/v1/tools/"+tool, `{"token":"`+token+`"}`, "").status)
	}
	assert.NotContains(t, string(s.send("POST /api/v1/tools/amof_list_ecosystems", `{}`, "").body), "shop")
	v := s.asked()
	require.Equal(t, id, v["id"])
	s.get(200, path(v, "approve"), shown(v, ""), "person")
	r := s.send("POST /api/v1/tools/amof_create_ecosystem", `{`+args+`}`, "")
	assert.Equal(t, 200, r.status, string(r.body))
}
