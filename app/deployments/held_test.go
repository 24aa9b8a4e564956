package deployments_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/clock"
)

// TestAHeldPlanIsAppliedAsItWasShown: a change between showing and applying within one command is an error if it affects what was shown, and
// otherwise not part of the plan.
func TestAHeldPlanIsAppliedAsItWasShown(t *testing.T) {
	const extra = "  - {id: \"command:extra\", type: command, tags: [base], source: {local_path: {path: extra.md}}}\n"
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, dir string)
		held      error // of a command that holds its plan
		fresh     error // of one that does not
	}{
		"nothing": {meanwhile: func(*testing.T, string) {}},
		"a source": {func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "pack/repo/rules/AGENTS.md"), []byte("# Others\n"), 0o644))
		}, deployment.ErrStale, confirm.ErrMismatch},
		"another module": {func(t *testing.T, dir string) {
			repo := filepath.Join(dir, "pack/repo")
			require.NoError(t, os.WriteFile(filepath.Join(repo, "extra.md"), []byte("---\ndescription: extra\n---\nExtra.\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(repo, "agentpack.yaml"), []byte(commands+extra), 0o644))
		}, nil, confirm.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			for _, hold := range []bool{true, false} {
				var now clock.Fake
				dir := commanded(t, commands)
				door := sampleDoorOver(t, dir, &now)
				want := c.fresh
				var held *tool.Held
				if hold {
					held, want = new(tool.Held), c.held
				}
				call := func(name tool.Name, args string, token confirm.Token) tool.Outcome {
					return door.Call(context.Background(), tool.Call{Held: held, Session: "s1", Principal: policy.Principal{ID: "me", Grants: policy.All}, Tool: name, Args: json.RawMessage(args), Token: token})
				}
				shown := call("deploy", `{}`, confirm.Token{})
				require.NoError(t, shown.Err)
				c.meanwhile(t, dir)
				done := call("deploy_apply", `{"yes":true}`, shown.Request.Token)
				if want != nil {
					require.ErrorIs(t, done.Err, want)
					continue
				}
				require.NoError(t, done.Err)
				var was, is struct{ Data deployments.ChangesData }
				require.NoError(t, json.Unmarshal(shown.Value, &was))
				require.NoError(t, json.Unmarshal(done.Value, &is))
				assert.Equal(t, was.Data.Changes, is.Data.Changes)
				assert.True(t, *is.Data.Applied)

				again := call("plan", `{}`, confirm.Token{})
				require.NoError(t, again.Err)
				is.Data = deployments.ChangesData{}
				require.NoError(t, json.Unmarshal(again.Value, &is))
				assert.Equal(t, name == "another module", len(is.Data.Changes) > 0, "a plan is held for one call")
			}
		})
	}
}
