package shellcmd_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project/shellcmd"
)

func TestDidYouMean(t *testing.T) {
	f, err := facts(t, `{"scripts":{"test":"true","build":"true"}}`)
	require.NoError(t, err)
	for typed, meant := range map[string]string{"tset": "test", "tes": "test", "testt": "test", "tost": "test", "Test": "test", "buid": "build", "deploy": "", "t": "", "tsex": ""} {
		_, err := shellcmd.BuildScriptCommand(f, everything(), typed, nil)
		require.Error(t, err)
		if meant == "" {
			assert.NotContains(t, err.Error(), "did you mean", typed)
			continue
		}
		assert.Contains(t, err.Error(), "did you mean "+meant+"?", typed)
	}
}

func TestDevLikeCommands(t *testing.T) {
	for text, want := range map[string]bool{
		"tsc --watch": true, "tsc -w": true, "tsc": false, "concurrently 'vite' \"tsc -w\"": true, "concurrently \"eslint .\" 'tsc'": false, "dotenv -e .env -- next dev": true, "dotenv -- node x.js": false,
		"nodemon x.js": true, "jest --watch": true, "jest --watch=false": false, "ls -w": false, "node --watch x.js": true,
	} {
		assert.Equal(t, want, shellcmd.LooksLongRunning("x", text), text)
	}
}
