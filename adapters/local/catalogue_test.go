package local_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
	"github.com/countersign-dev/countersign/internal/testkit/toolsnap"
)

// whole is the door with every toolset served.
func whole(t *testing.T) *local.Local {
	t.Helper()
	o := person.ByCaller(local.Defaults())
	o.Serve.Toolsets = []string{"all"}
	l, err := local.Open(local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: t.TempDir(), Options: o})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func TestThePublishedShapeOfEveryTool(t *testing.T) {
	toolsnap.Check(t, "testdata/tools", whole(t).Specs(), nil)
}

// TestToolsStayWithinTheirTokens: a tool is at most 300 tokens of a model's context (what it answers is published for programs, and not counted), the many-actioned input 1,200, and its first
// sentence is what tool searches match (product rules: names and places, rulings on policy).
func TestToolsStayWithinTheirTokens(t *testing.T) {
	for s := range whole(t).Specs() {
		limit := 300
		if s.Name == "input" {
			limit = 1200
		}
		if s.Name == "deploy_apply" || s.Name == "evolve_propose" || s.Name == "evolve_restore" { // their schemas are seed 000's, word for word, with every host's name; the estimate is a high one
			limit = 380
		}
		assert.LessOrEqual(t, pack.EstimateTokens(string(s.Name)+s.Description+string(s.Input)), limit, s.Name)
		first, _, _ := strings.Cut(s.Description, ". ")
		assert.Less(t, len(first), 200, "%s begins with a sentence too long to search", s.Name)
	}
}

// TestEveryPublishedResultIsAnObject, a line a tool in testdata/results.golden: MCP asks for that, and clients compile the schemas of results as soon as they list tools. Contracts that answer with
// text, or that publish no schema of results, have none.
func TestEveryPublishedResultIsAnObject(t *testing.T) {
	var published strings.Builder
	for s := range whole(t).Specs() {
		doc := present.Results(s)
		if len(doc) == 0 {
			continue
		}
		published.WriteString(string(s.Name) + " " + string(doc) + "\n")
		assert.NotContains(t, []tool.Contract{present.ContextPack, present.Agentpack}, s.Contract, s.Name)
		var schema jsonschema.Schema
		require.NoError(t, json.Unmarshal(doc, &schema), s.Name)
		assert.Equal(t, "object", schema.Type, s.Name)
		_, err := schema.Resolve(nil)
		require.NoError(t, err, s.Name)
	}
	golden.Compare(t, "testdata/results.golden", []byte(published.String()))
}

// TestEveryContractHasAPresenter: a tool of an unknown contract would be presented as something it is not.
func TestEveryContractHasAPresenter(t *testing.T) {
	known := map[tool.Contract]bool{present.Control: true, present.ContextPack: true, present.Agentpack: true, present.Packageflow: true, present.Opencode: true, present.Amof: true}
	for s := range whole(t).Specs() {
		assert.True(t, known[s.Contract], "%s has contract %q", s.Name, s.Contract)
		d := present.For(s.Contract)(tool.Outcome{Spec: s, Err: fault.New(fault.Denied, "x_denied", "no")})
		assert.True(t, d.Fail)
		assert.Regexp(t, `"(message|error)": ?"no"`, string(d.Body))
	}
}
