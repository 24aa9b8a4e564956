package project_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/project"
)

// TestLineSettings: the settings that decide what runs are found in any spelling, and no others.
func TestLineSettings(t *testing.T) {
	for text, want := range map[string]string{
		"script-shell=./evil": "./evil", " script-shell = ./evil \n": "./evil", "a=b\rscript-shell=./evil": "./evil", `"script-shell"="./evil"`: "./evil", "\"\\u0073cript-shell\"=./evil": "./evil",
		"script-shell ;x=./evil": "./evil", "script-${NONE?}shell=./evil": "./evil", "SCRIPT_SHELL=./evil": "./evil", "node-options=-r ./evil": "-r ./evil", "git=./evil": "./evil", "\ufeffscript-shell=./evil": "./evil",
		"ignore-scripts=true": "true", "# script-shell=./evil": "", ";script-shell=./evil": "", "registry=https://example.org/": "", "//example.org/:_authToken=x": "", "shell-x=1": "", "": "", "\n\n": "",
	} {
		got := project.LineSettings(".npmrc", []byte(text))
		if want == "" {
			assert.Empty(t, got, text)
			continue
		}
		if assert.Len(t, got, 1, text) {
			assert.Equal(t, want, got[0].Value, text)
			assert.False(t, got[0].Usual, text)
		}
	}
	assert.Len(t, project.LineSettings(project.SettingsBun, []byte("preload = [\"./a\"]\n[install]\nshell = \"no\"\n[run]\nshell = \"x\"\nbun = true\n")), 3)
	assert.Len(t, project.LineSettings(project.SettingsYarn, []byte("yarn-path \"./evil\"\nlastUpdateCheck 1\n")), 1)
	for value, usual := range map[string]bool{".yarn/releases/yarn-4.cjs": true, "./.yarn/releases/yarn-4.cjs": true, "./evil.cjs": false, ".yarn/releases/../../evil": false} {
		s, yes := project.NewSetting(".yarnrc.yml", "yarnPath", value)
		assert.True(t, yes)
		assert.Equal(t, usual, s.Usual, value)
	}
}
