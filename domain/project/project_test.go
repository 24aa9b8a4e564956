package project_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
)

func now() time.Time { return time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC) }

func TestNew(t *testing.T) {
	p, err := project.NewProject("id", "  Shop ", "/code/shop", " sells things\n", now())
	require.NoError(t, err)
	assert.Equal(t, project.Project{ID: "id", Name: "Shop", Path: "/code/shop", Description: "sells things", CreatedAt: now(), LastOpenedAt: now(), Revision: 1}, p)
	p, err = project.NewProject("id", " \t", "/code/my shop", "", now())
	require.NoError(t, err)
	assert.Equal(t, "my shop", p.Name, "a blank name is the directory's")
	_, err = project.NewProject("id", strings.Repeat("ü", project.MaxName), "/x", strings.Repeat("ü", project.MaxDescription), now())
	require.NoError(t, err, "limits are in characters")
	for name, c := range map[string][2]string{
		"a long name": {strings.Repeat("x", project.MaxName+1), ""}, "a long description": {"x", strings.Repeat("x", project.MaxDescription+1)},
		"a bell": {"x\a", ""}, "an escape": {"x", "\x1b[2J"}, "bytes": {"\xff", ""}, "NUL": {"x", "a\x00b"},
	} {
		p, err := project.NewProject("id", c[0], "/x", c[1], now())
		require.ErrorIs(t, err, project.ErrArgument, name)
		assert.Empty(t, p, name)
	}
}

func TestMatches(t *testing.T) {
	p := project.Project{Name: "Shop Ünlü", Path: "/code/web-front", Description: "Sells THINGS"}
	for query, want := range map[string]bool{"": true, " shop ": true, "ÜNLÜ": true, "WEB-": true, "/code": true, "things": true, "none": false, "shop  ünlü": false} {
		assert.Equal(t, want, p.Matches(query), query)
	}
}

func TestCheckText(t *testing.T) {
	for text, ok := range map[string]bool{"": true, "a\tb\nc": true, "日本語日本語": false, "日本語日本": true, "a\rb": false, "\u0085": false, "\x7f": false, "\xc3\x28": false} {
		err := project.CheckText("title", text, 5)
		if ok {
			require.NoError(t, err, "%q", text)
			continue
		}
		require.ErrorIs(t, err, project.ErrArgument, "%q", text)
		assert.ErrorContains(t, err, "title", "the field is named")
	}
}

func TestCheckPath(t *testing.T) {
	for path, ok := range map[string]bool{
		"/": true, "/a/b": true, "/a/../b": false, "/..": false, "/a/..": false, "/..a/b..": true, "/a/...": true, "/foo..bar": true, "/a/./b": true, "//a//b/": true, "": false,
		"a": false, "./a": false, "../a": false, "~": false, "~/a": false, "~root": false, "/~": true, "/a/~/b": true, "/$HOME/x": true, "/${HOME}": true, "/%USERPROFILE%": true,
		`C:\x`: false, "/a\x00b": false, "/a\nb": false, "/a\x1b[2Jb": false, "/a\u0085b": false, "/a\xffb": false, "/ünïcode/日本 x": true, " /a": false, "/a ": true,
		"/" + strings.Repeat("x", project.MaxPath-1): true, "/" + strings.Repeat("x", project.MaxPath): false, "/" + strings.Repeat("ü", project.MaxPath/2): false,
	} {
		err := project.CheckPath(path)
		if ok {
			require.NoError(t, err, "%q", path)
			continue
		}
		require.ErrorIs(t, err, project.ErrPath, "%q", path)
		assert.Equal(t, fault.Denied, fault.From(err).Kind)
		assert.Less(t, len(err.Error()), 500)
		assert.NotContains(t, err.Error(), "\x1b")
	}
}
