package ecosystem_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

func TestOutput(t *testing.T) {
	for line, want := range map[string][2]string{
		"::amof url=http://127.0.0.1:8080": {"url", "http://127.0.0.1:8080"},
		"::amof  a.b-c_1= x = y ":          {"a.b-c_1", " x = y"},
		"::amof empty=":                    {"empty", ""},
	} {
		key, value, ok := ecosystem.ParseOutput(line)
		require.True(t, ok, line)
		assert.Equal(t, want, [2]string{key, value}, line)
	}
	for _, line := range []string{
		"", "url=1", " ::amof url=1", "::amofurl=1", "::amof url", "::amof =1", "::amof 1a=1", "::amof a b=1", "::amof ä=1", "::amof -a=1",
		"::amof " + strings.Repeat("k", 65) + "=1", "::amof k=" + strings.Repeat("v", 4097),
	} {
		_, _, ok := ecosystem.ParseOutput(line)
		assert.False(t, ok, line)
	}
}

func TestHear(t *testing.T) {
	outputs, owners := map[string]string{}, map[string]string{}
	for _, said := range [][2]string{{"api", "url=1"}, {"web", "url=2"}, {"api", "url=3"}, {"web", "url=4"}, {"web", "port=5"}} {
		require.True(t, ecosystem.RecordOutput(outputs, owners, said[0], "::amof "+said[1]))
	}
	assert.Equal(t, map[string]string{"url": "3", "web.url": "4", "port": "5"}, outputs)
	assert.False(t, ecosystem.RecordOutput(outputs, owners, "api", "nothing of it"))
	for i := range 2 * ecosystem.MaxOutputs {
		ecosystem.RecordOutput(outputs, owners, "api", "::amof k"+strings.Repeat("x", i/10)+string(rune('a'+i%10))+"=1")
	}
	assert.Len(t, outputs, ecosystem.MaxOutputs)
	assert.True(t, ecosystem.RecordOutput(outputs, owners, "api", "::amof url=6"), "what is known may change")
}

func TestEstimate(t *testing.T) {
	s := func(n ...float64) (out []time.Duration) {
		for _, v := range n {
			out = append(out, time.Duration(v*float64(time.Second)))
		}
		return out
	}
	for name, c := range map[string]struct {
		took     []time.Duration
		manifest int
		seconds  int64
		source   string
	}{
		"one":            {s(7), 30, 7, "history"},
		"three":          {s(9, 1, 5), 30, 5, "history"},
		"four":           {s(1, 9, 3, 5), 0, 4, "history"},
		"part of one":    {s(0.2), 0, 1, "history"},
		"the last five":  {s(1, 2, 3, 4, 5, 100, 100, 100), 0, 3, "history"},
		"from the words": {nil, 30, 30, "manifest"},
	} {
		seconds, source := ecosystem.EstimateDuration(c.took, c.manifest)
		require.NotNil(t, seconds, name)
		assert.Equal(t, c.seconds, *seconds, name)
		assert.Equal(t, c.source, *source, name)
	}
	seconds, source := ecosystem.EstimateDuration(nil, 0)
	assert.Nil(t, seconds)
	assert.Nil(t, source)
}

func none(name string) (ecosystem.Script, error) { return ecosystem.Script{}, ecosystem.ErrMissing }

func TestFind(t *testing.T) {
	script := ecosystem.Script{Path: "/w/provisioners/x/spin.sh", Shown: "provisioners/x/spin.sh", SHA256: "abc", Executable: true}
	there := func(string) (ecosystem.Script, error) { return script, nil }
	for name, c := range map[string]struct {
		manifest ecosystem.Manifest
		script   func(string) (ecosystem.Script, error)
		kind     ecosystem.Kind
		err      error
	}{
		"inline first":    {ecosystem.Manifest{Provisioner: "local", Spin: ecosystem.Spin{Deploy: "x"}}, there, ecosystem.KindInline, nil},
		"bounds alone":    {ecosystem.Manifest{Provisioner: "local", Spin: ecosystem.Spin{EstimateSeconds: 3}}, none, ecosystem.KindLocal, nil},
		"a script":        {ecosystem.Manifest{Provisioner: "local"}, there, ecosystem.KindScript, nil},
		"local":           {ecosystem.Manifest{Provisioner: "local"}, none, ecosystem.KindLocal, nil},
		"noop":            {ecosystem.Manifest{Provisioner: "noop"}, none, ecosystem.KindNoop, nil},
		"unknown":         {ecosystem.Manifest{Provisioner: "k8s"}, none, "", ecosystem.ErrMissing},
		"none":            {ecosystem.Manifest{}, none, "", ecosystem.ErrEnvironmentNone},
		"a refused one":   {ecosystem.Manifest{Provisioner: "local"}, func(string) (ecosystem.Script, error) { return ecosystem.Script{}, ecosystem.ErrUnsafe }, "", ecosystem.ErrUnsafe},
		"a broken disk":   {ecosystem.Manifest{Provisioner: "local"}, func(string) (ecosystem.Script, error) { return ecosystem.Script{}, errDisk }, "", errDisk},
		"not by accident": {ecosystem.Manifest{Provisioner: "inline"}, none, "", ecosystem.ErrMissing},
	} {
		p, err := ecosystem.FindProvisioner(c.manifest, c.script)
		require.ErrorIs(t, err, c.err, name)
		assert.Equal(t, c.kind, p.Kind, name)
	}
}

var errDisk = errors.New("disk")

// TestDeployer: what deployed an environment takes it down.
func TestDeployer(t *testing.T) {
	m := ecosystem.Manifest{Name: "demo", Provisioner: "other", Spin: ecosystem.Spin{Destroy: "down"}}
	for _, kind := range []ecosystem.Kind{ecosystem.KindLocal, ecosystem.KindNoop, ecosystem.KindInline} {
		p, err := ecosystem.Deployer(ecosystem.EnvironmentState{Kind: kind}, m, none)
		require.NoError(t, err)
		assert.Equal(t, kind, p.Kind)
	}
	_, err := ecosystem.Deployer(ecosystem.EnvironmentState{Kind: ecosystem.KindInline}, ecosystem.Manifest{Name: "demo"}, none)
	require.ErrorIs(t, err, ecosystem.ErrEnvironmentNone)
	asked := ""
	_, err = ecosystem.Deployer(ecosystem.EnvironmentState{Kind: ecosystem.KindScript, Provisioner: "box"}, m, func(name string) (ecosystem.Script, error) {
		asked = name
		return ecosystem.Script{}, ecosystem.ErrMissing
	})
	require.ErrorIs(t, err, ecosystem.ErrMissing)
	assert.Equal(t, "box", asked)
}

func TestCommand(t *testing.T) {
	l := ecosystem.Layout{Name: "demo", Dir: "/w/ecosystems/demo"}
	script := ecosystem.Script{Path: "/w/s", Executable: true}
	for name, c := range map[string]struct {
		p    ecosystem.Provisioner
		want []string
	}{
		"a shell line":   {ecosystem.Provisioner{Kind: ecosystem.KindInline, Lines: ecosystem.Spin{Deploy: "make up"}}, []string{"sh", "-c", "make up", "sh", "-x"}},
		"a script":       {ecosystem.Provisioner{Name: "box", Kind: ecosystem.KindScript, Script: script}, []string{"/w/s", "deploy", "/w/ecosystems/demo", "-x"}},
		"k3d":            {ecosystem.Provisioner{Name: "k3d", Kind: ecosystem.KindScript, Script: script}, []string{"/w/s", "deploy", "demo", "-x"}},
		"not executable": {ecosystem.Provisioner{Name: "box", Kind: ecosystem.KindScript, Script: ecosystem.Script{Path: "/w/s"}}, []string{"bash", "/w/s", "deploy", "/w/ecosystems/demo", "-x"}},
	} {
		argv, err := c.p.Command(ecosystem.ActionDeploy, l, []string{"-x"})
		require.NoError(t, err, name)
		assert.Equal(t, c.want, argv, name)
	}
	_, err := ecosystem.Provisioner{Kind: ecosystem.KindInline}.Command(ecosystem.ActionPlan, l, nil)
	require.ErrorIs(t, err, ecosystem.ErrUnsupported)
}

func TestTimeout(t *testing.T) {
	for seconds, want := range map[int]time.Duration{0: 10 * time.Minute, -1: 10 * time.Minute, 5: 5 * time.Second, 999999: time.Hour} {
		assert.Equal(t, want, ecosystem.ProvisionerTimeout(ecosystem.Manifest{Spin: ecosystem.Spin{TimeoutSeconds: seconds}}))
	}
}

// TestState: the keys are those of the contract, and every phase is told apart.
func TestEnvironmentState(t *testing.T) {
	st, err := ecosystem.DecodeEnvironment("default", nil)
	require.NoError(t, err)
	assert.Equal(t, ecosystem.PhaseNone, st.State)
	assert.Equal(t, ecosystem.Brief{Environment: "default", State: "none"}, st.Brief())
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	st = st.Begun(ecosystem.PhaseDeploying, "r1", now)
	assert.True(t, st.State.Passing())
	st.Outputs["url"], st.Services = "x", []ecosystem.Service{{Repo: "api"}}
	failed := st.Ended(ecosystem.PhaseFailed, "no", now)
	assert.Equal(t, "no", failed.Brief().Error)
	assert.Equal(t, "x", failed.Outputs["url"])
	assert.Empty(t, failed.Begun(ecosystem.PhaseDestroying, "r2", now).Error)
	gone := st.Ended(ecosystem.PhaseNone, "", now)
	assert.Empty(t, gone.Outputs)
	assert.Empty(t, gone.Services)
	doc, err := json.Marshal(st)
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(doc, &keys))
	for _, key := range []string{"environment", "state", "run_id", "since", "provisioner", "script_sha256", "repos", "outputs"} {
		assert.Contains(t, keys, key)
	}
	back, err := ecosystem.DecodeEnvironment("default", doc)
	require.NoError(t, err)
	assert.Equal(t, st, back)
	_, err = ecosystem.DecodeEnvironment("default", []byte("{"))
	require.ErrorIs(t, err, ecosystem.ErrState)
}
