package target_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
)

func TestSlash(t *testing.T) {
	n := target.Paths{Sep: '/'}
	assert.Equal(t, "/a/b/c", n.Join("/a", "b/c"))
	assert.Equal(t, "/b", n.Join("/", "b"))
	assert.Equal(t, "/a", n.Join("/a", "."))
	assert.True(t, n.Absolute("/a"))
	assert.False(t, n.Absolute("a"))
	assert.False(t, n.Absolute(`C:\a`))
	assert.Equal(t, "/a/c", n.Clean("/a//b/../c/"))
	for in, want := range map[string]string{"~": "/h", "~/x": "/h/x", "~//x/": "/h/x/", "~user/x": "~user/x", "/~": "/~", `~\x`: `~\x`, "": ""} {
		assert.Equal(t, want, n.Expand(in, "/h"), in)
	}
	assert.True(t, n.Root("/"))
	assert.False(t, n.Root("/a"))
}

func TestWindows(t *testing.T) {
	n := target.Paths{Sep: '\\'}
	assert.Equal(t, `C:\a\b\c`, n.Join(`C:\a`, "b/c"))
	assert.Equal(t, `C:\b`, n.Join(`C:\`, "b"))
	for in, want := range map[string]bool{`C:\a`: true, "c:/a": true, `\\server\share`: true, `C:a`: false, `\a`: false, "a": false, "C:": false} {
		assert.Equal(t, want, n.Absolute(in), in)
	}
	for in, want := range map[string]string{`C:\a\..\b\`: `C:\b`, "C:/a/b": `C:\a\b`, `C:\`: `C:\`, `C:\..`: `C:\`, `\\server\share\a\.`: `\\server\share\a`} {
		assert.Equal(t, want, n.Clean(in), in)
	}
	for in, want := range map[string]string{`~\x`: `C:\h\x`, "~/x/y": `C:\h\x\y`, "~": `C:\h`} {
		assert.Equal(t, want, n.Expand(in, `C:\h`), in)
	}
	assert.True(t, n.Root(`C:\`))
	assert.False(t, n.Root(`C:\a`))
}

func TestConfined(t *testing.T) {
	for _, below := range []string{"a", "a/b", "..a", "a/...", "a b", `a\b`, "a:b"} {
		assert.NoError(t, target.Paths{Sep: '/'}.Confined(below), below)
	}
	for _, below := range []string{"", ".", "..", "../a", "a/../b", "/a", "a/", "a//b", "a/./b", "a\x00b", "a\xff"} {
		assert.ErrorIs(t, target.Paths{Sep: '/'}.Confined(below), deployment.ErrPath, below)
		assert.ErrorIs(t, target.Paths{Sep: '\\'}.Confined(below), deployment.ErrPath, below)
	}
	for _, below := range []string{`a\b`, `..\a`, "C:a", "a:stream"} {
		assert.ErrorIs(t, target.Paths{Sep: '\\'}.Confined(below), deployment.ErrPath, below)
	}
}

func TestComponent(t *testing.T) {
	slash, windows := target.Paths{Sep: '/'}, target.Paths{Sep: '\\'}
	for _, name := range []string{"a", "a b", "a.b", "...", ".hidden", "ünïcode"} {
		assert.True(t, slash.Component(name), name)
	}
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "/", "a\x00", "a\n", ".git", ".GIT", ".agentpack", "../x"} {
		assert.False(t, slash.Component(name), name)
		assert.False(t, windows.Component(name), name)
	}
	for _, name := range []string{"a:b", "a*", "a?", `a"`, "a<", "a|", "a.", "a "} {
		assert.True(t, slash.Component(name), name)
		assert.False(t, windows.Component(name), name)
	}
}

// FuzzJoin: every confined path is below the directory it is joined to, by any way of resolving it.
func FuzzJoin(f *testing.F) {
	for _, s := range []string{"a/b", "../x", `..\x`, "C:x", "a/..", "a\x00", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, below string) {
		for dir, n := range map[string]target.Paths{"/w/root": {Sep: '/'}, `C:\w\root`: {Sep: '\\'}} {
			if n.Confined(below) == nil {
				joined := n.Join(dir, below)
				assert.Equal(t, joined, n.Clean(joined))
				assert.Greater(t, len(joined), len(dir)+1)
				assert.Equal(t, dir+string(n.Sep), joined[:len(dir)+1])
			}
		}
	})
}
