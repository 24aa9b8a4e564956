package release_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/domain/ecosystem/release"
)

func must(t testing.TB, s string) release.Version {
	t.Helper()
	v, err := release.ParseVersion(s)
	require.NoError(t, err)
	return v
}

func TestParse(t *testing.T) {
	for _, s := range []string{"0.0.0", "1.2.3", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0-x.7.z.92", "1.0.0-x-y-z.--", "1.0.0+20130313144700", "1.0.0-beta+exp.sha.5114f85",
		"1.0.0+21AF26D3---117B344092BD", "18446744073709551615.0.0", "1.0.0-99999999999999999999999999", "1.0.0+001", "1.0.0-0a"} {
		assert.Equal(t, s, must(t, s).String())
	}
	for _, s := range []string{"", "1", "1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.02.3", "1.2.03", "1.2.3-", "1.2.3+", "1.2.3-01", "1.2.3-a..b", "1.2.3-a_b", "1.2.3 ", " 1.2.3", "-1.2.3", "1.2.3-é",
		"18446744073709551616.0.0", "1.2.3+a+b", "1.2.x", "1.2.3-a\n", "+1.2.3", "1.2.3-" + strings.Repeat("a", 300)} {
		_, err := release.ParseVersion(s)
		require.ErrorIs(t, err, release.ErrVersion, s)
	}
}

// TestPrecedence is the order of SemVer 2.0 §11, which git's own sorting gets wrong.
func TestPrecedence(t *testing.T) {
	order := []string{"0.9.9", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-99999999999999999999", "1.0.0-100000000000000000000", "1.0.0-A", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"}
	for i, a := range order {
		for j, b := range order {
			c := release.CompareVersions(must(t, a), must(t, b))
			assert.Equal(t, i < j, c < 0, "%s %s", a, b)
			assert.Equal(t, i == j, c == 0, "%s %s", a, b)
		}
	}
	assert.Zero(t, release.CompareVersions(must(t, "1.0.0+a"), must(t, "1.0.0+b")))
}

func TestBump(t *testing.T) {
	for _, c := range []struct{ from, part, stage, to string }{
		{"1.0.2", "patch", "", "1.0.3"}, {"1.0.2", "patch", "alpha", "1.0.3-alpha.1"}, {"1.0.3-alpha.1", "patch", "alpha", "1.0.3-alpha.2"}, {"1.0.3-alpha.1", "patch", "beta", "1.0.3-beta.1"},
		{"1.0.3-alpha.1", "patch", "", "1.0.3"}, {"1.0.3", "patch", "", "1.0.4"}, {"1.0.2", "minor", "", "1.1.0"}, {"1.0.2", "major", "rc", "2.0.0-rc.1"}, // amof contract §8
		{"0.0.0", "patch", "", "0.0.1"}, {"0.0.0", "minor", "alpha", "0.1.0-alpha.1"}, {"0.0.0", "major", "", "1.0.0"},
		{"1.0.3-beta.2", "patch", "alpha", "1.0.4-alpha.1"}, {"1.0.3-rc.9", "patch", "rc", "1.0.3-rc.10"}, {"1.1.0-alpha.1", "minor", "alpha", "1.1.0-alpha.2"}, {"1.1.0-alpha.1", "minor", "", "1.1.0"},
		{"1.1.0-beta.1", "minor", "alpha", "1.2.0-alpha.1"}, {"1.0.3-alpha.1", "minor", "", "1.1.0"}, {"1.0.3-alpha.1", "minor", "beta", "1.1.0-beta.1"}, {"2.0.0-rc.1", "major", "", "2.0.0"},
		{"2.1.0-rc.1", "major", "", "3.0.0"}, {"1.0.3-alpha", "patch", "alpha", "1.0.3-alpha.1"}, {"1.0.3-foo.2", "patch", "", "1.0.3"}, {"1.0.3-foo.2", "patch", "rc", "1.0.3-rc.1"},
		{"1.0.3-foo.2", "patch", "alpha", "1.0.4-alpha.1"}, {"1.0.3-alpha.x", "patch", "alpha", "1.0.4-alpha.1"}, {"1.0.2+meta", "patch", "", "1.0.3"}, {"1.0.3-rc.18446744073709551615", "patch", "rc", "1.0.4-rc.1"},
	} {
		got, err := release.Bump(must(t, c.from), c.part, c.stage)
		require.NoError(t, err)
		assert.Equal(t, c.to, got.String(), "%s %s %s", c.from, c.part, c.stage)
	}
	for _, c := range []struct {
		from        release.Version
		part, stage string
	}{{release.Version{}, "", ""}, {release.Version{}, "build", ""}, {release.Version{}, "patch", "stable"}, {release.Version{}, "patch", "gamma"}, {release.Version{Patch: math.MaxUint64}, "patch", ""},
		{release.Version{Minor: math.MaxUint64}, "minor", "rc"}, {release.Version{Major: math.MaxUint64}, "major", ""}} {
		_, err := release.Bump(c.from, c.part, c.stage)
		require.ErrorIs(t, err, release.ErrStep)
	}
}

func TestPromote(t *testing.T) {
	for _, c := range []struct{ from, target, to string }{
		{"1.0.3-alpha.2", "", "1.0.3"}, {"1.0.3-alpha.2", "beta", "1.0.3-beta.1"}, {"1.0.3-alpha.2", "rc", "1.0.3-rc.1"}, {"1.0.3-beta.1", "beta", "1.0.3-beta.2"}, {"1.0.3-rc.1", "rc", "1.0.3-rc.2"},
		{"1.0.3-foo", "", "1.0.3"}, {"1.0.3-rc.1", "beta", ""}, {"1.0.3", "", ""}, {"1.0.3", "rc", ""}, {"1.0.3-alpha.2", "alpha", ""}, {"1.0.3-alpha.2", "stable", ""}, {"0.0.0", "", ""}, {"1.0.3-foo", "beta", ""},
	} {
		got, err := release.Promote(must(t, c.from), c.target)
		if c.to == "" {
			require.ErrorIs(t, err, release.ErrStep, "%s %s", c.from, c.target)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.to, got.String())
	}
}

func versions() *rapid.Generator[release.Version] {
	return rapid.Custom(func(t *rapid.T) release.Version {
		v := release.Version{Major: rapid.Uint64Max(3).Draw(t, "major"), Minor: rapid.Uint64Max(3).Draw(t, "minor"), Patch: rapid.Uint64Max(3).Draw(t, "patch")}
		v.Pre = rapid.SampledFrom([]string{"", "alpha", "alpha.1", "alpha.2", "beta.1", "beta.10", "rc.1", "rc.x", "foo", "foo.1", "0", "zeta", "alpha.1.1"}).Draw(t, "pre")
		return v
	})
}

// TestStepsLeadUp: every step leads to a higher version in its own text form, and precedence is an order.
func TestStepsLeadUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := versions().Draw(t, "v")
		part, stage := rapid.SampledFrom([]string{"patch", "minor", "major"}).Draw(t, "part"), rapid.SampledFrom([]string{"", "alpha", "beta", "rc"}).Draw(t, "stage")
		next, err := release.Bump(v, part, stage)
		require.NoError(t, err)
		require.Positive(t, release.CompareVersions(next, v), "%s → %s", v, next)
		again, err := release.ParseVersion(next.String())
		require.NoError(t, err)
		require.Equal(t, next, again)
		is, _ := next.Stage()
		require.Equal(t, map[bool]string{true: "stable", false: stage}[stage == ""], is)
		if to, err := release.Promote(v, rapid.SampledFrom([]string{"", "beta", "rc"}).Draw(t, "target")); err == nil {
			require.Positive(t, release.CompareVersions(to, v), "%s → %s", v, to)
			require.Equal(t, [3]uint64{v.Major, v.Minor, v.Patch}, [3]uint64{to.Major, to.Minor, to.Patch}, "a promotion is of the same version")
		}
		a, b := versions().Draw(t, "a"), versions().Draw(t, "b")
		require.Equal(t, release.CompareVersions(a, b), -release.CompareVersions(b, a))
		if release.CompareVersions(v, a) <= 0 && release.CompareVersions(a, b) <= 0 {
			require.LessOrEqual(t, release.CompareVersions(v, b), 0)
		}
		for _, way := range release.Ways(v) {
			to, err := release.ParseVersion(strings.TrimPrefix(way.Version, "v"))
			require.NoError(t, err)
			require.Positive(t, release.CompareVersions(to, v))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1.2.3", "1.0.0-alpha.1+b", "v1", "1.0.0--", "0.0.0-0"} {
		f.Add(s, "1.0.0")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		v, err := release.ParseVersion(a)
		if err != nil {
			require.ErrorIs(t, err, release.ErrVersion)
			return
		}
		require.Equal(t, a, v.String())
		if w, err := release.ParseVersion(b); err == nil {
			require.Equal(t, release.CompareVersions(v, w), -release.CompareVersions(w, v))
		}
		for _, part := range []string{"patch", "minor", "major"} {
			if next, err := release.Bump(v, part, "alpha"); err == nil {
				require.Positive(t, release.CompareVersions(next, v))
			}
		}
	})
}

func TestCommon(t *testing.T) {
	of := func(names ...string) map[string]release.Version { return release.ParseTags("v", names) }
	tag, v, differ := release.CommonTag([]map[string]release.Version{of("v1.0.0", "v1.0.0-rc.1", "v2.0.0", "1.5.0", "vx"), of("v1.0.0-rc.1", "v1.0.0", "nightly"), of("v1.0.0-rc.1", "v1.0.0", "v0.1.0")})
	assert.Equal(t, "v1.0.0", tag, "above its release candidate")
	assert.Equal(t, "1.0.0", v.String())
	assert.Equal(t, []int{0}, differ)
	tag, v, differ = release.CommonTag([]map[string]release.Version{of("v1.0.0"), of()})
	assert.Empty(t, tag)
	assert.Equal(t, "0.0.0", v.String())
	assert.Equal(t, []int{0}, differ)
	tag, _, differ = release.CommonTag(nil)
	assert.Empty(t, tag)
	assert.Empty(t, differ)
	assert.Len(t, release.ParseTags("", []string{"1.0.0", "v1.0.0"}), 1)
}

func TestSorted(t *testing.T) {
	records := []release.Record{{Tag: "b", Version: "?"}, {Tag: "v1.0.0-rc.1", Version: "1.0.0-rc.1"}, {Tag: "v1.0.0", Version: "1.0.0"}, {Tag: "c"}, {Tag: "v0.9.0", Version: "0.9.0"}}
	var tags []string
	for _, r := range release.SortRecords(records) {
		tags = append(tags, r.Tag)
	}
	assert.Equal(t, []string{"v1.0.0", "v1.0.0-rc.1", "v0.9.0", "c", "b"}, tags)
}
