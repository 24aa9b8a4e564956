package release_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/ecosystem/release"
)

func TestPart(t *testing.T) {
	one := release.Version{Major: 1}
	for subject, want := range map[string]string{"fix: a": "patch", "feat: a": "minor", "Feat(api): a": "minor", "feat!: a": "major", "refactor(x)!: a": "major", "feature: a": "patch", "feat a": "patch", "a!: b c": "major",
		"feat:a": "patch", "Merge branch 'feat: x'": "patch"} {
		assert.Equal(t, want, release.Part(one, []string{"fix: x", subject, "docs: y"}, false), subject)
	}
	assert.Equal(t, "major", release.Part(one, nil, true))
	assert.Equal(t, "minor", release.Part(release.Version{}, []string{"feat!: a"}, false), "before 1.0.0")
	assert.Equal(t, "major", release.HigherPart(release.HigherPart("patch", "major"), "minor"))
}

func TestNextSet(t *testing.T) {
	assert.Equal(t, "release-1", release.NextSet([]release.Record{{Tag: "release-7"}, {Tag: "v1.0.0", Version: "1.0.0"}}), "another kind")
	sets := []release.Record{{Tag: "v1.0.0", Version: "1.0.0"}, {Tag: "release-9", Versions: release.Independent}, {Tag: "release-10", Versions: release.Independent}}
	assert.Equal(t, "release-11", release.NextSet(sets))
	assert.Equal(t, "release-10", release.SortRecords(sets)[0].Tag)
}
