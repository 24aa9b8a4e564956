//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// host is an agent host as npm has it, and how it is told to use the scripted model and to leave its own questions unasked. What Countersign asks is not
// among those: nothing here lets anything through.
type host struct {
	name    string // as countersign connect has it
	pkg     string // at npm
	version string // which this was written against
	program string
	client  string // how it names itself over MCP
	command func(url string, headless bool) (arguments, env []string)
	ready   string // stands in its terminal view when one can type
	prepare func(home, project string) error
}

// prompt is what the user tells every host to do. The model does not read it.
const prompt = "do it"

func hosts() []host {
	return []host{
		{name: "claude-code", pkg: "@anthropic-ai/claude-code", version: "2.1.197", program: "claude", client: "claude-code", ready: "? for shortcuts", command: func(url string, headless bool) ([]string, []string) {
			arguments := []string{"--allowedTools", "mcp__countersign__*"}
			if headless {
				arguments = append([]string{"-p", prompt}, arguments...)
			}
			return arguments, []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "ENABLE_TOOL_SEARCH=false"}
		}, prepare: welcomed},
		{name: "codex", pkg: "@openai/codex", version: "0.169.0", program: "codex", client: "codex", ready: "Ask Codex to do anything", command: func(url string, headless bool) ([]string, []string) {
			arguments := []string{"--dangerously-bypass-approvals-and-sandbox", "-c", "model=gpt-5.1-codex", "-c", "model_provider=scripted",
				"-c", `model_providers.scripted={name="scripted",base_url="` + url + `/v1",wire_api="responses"}`}
			if headless {
				arguments = append(append([]string{"exec", "--skip-git-repo-check"}, arguments...), prompt)
			}
			return arguments, []string{"OPENAI_API_KEY=" + key}
		}, prepare: trusted},
		{name: "opencode", pkg: "opencode-ai", version: "1.18.33", program: "opencode", client: "opencode", ready: "Ask anything", command: func(url string, headless bool) (arguments []string, env []string) {
			config, _ := json.Marshal(object{"model": "scripted/m", "small_model": "scripted/m", "provider": object{"scripted": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": url + "/v1", "apiKey": key}, "models": object{"m": object{}}}}})
			if headless {
				arguments = []string{"run", prompt}
			}
			return arguments, []string{"OPENCODE_CONFIG_CONTENT=" + string(config), "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
		}},
		{name: "gemini-cli", pkg: "@google/gemini-cli", version: "0.61.0", program: "gemini", client: "gemini", ready: "Type your message", command: func(url string, headless bool) ([]string, []string) {
			arguments := []string{"-y"}
			if headless {
				arguments = append(arguments, "-p", prompt)
			}
			return arguments, []string{"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		}, prepare: keyless},
	}
}

// key is what hosts show the model's server.
const key = "sk-none"

// keyless has Gemini CLI log in with a key, trust where it is, and send nothing anywhere.
func keyless(home, _ string) error {
	return settled(filepath.Join(home, ".gemini", "settings.json"), object{
		"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
		"general":   object{"enableAutoUpdate": false},
		"telemetry": object{"enabled": false},
	})
}

// welcomed is past what Claude Code asks when it is started in a terminal for the first time.
func welcomed(home, project string) error {
	return settled(filepath.Join(home, ".claude.json"), object{
		"hasCompletedOnboarding": true,
		"theme":                  "dark",
		"customApiKeyResponses":  object{"approved": []string{key}, "rejected": []string{}},
		"projects":               object{project: object{"hasTrustDialogAccepted": true}},
	})
}

// trusted is past the same with Codex.
func trusted(home, project string) error {
	if err := os.MkdirAll(filepath.Join(home, ".codex"), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(home, ".codex", "config.toml"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\n[projects.%q]\ntrust_level = \"trusted\"\n", project)
	return errors.Join(err, f.Close())
}

// settled puts values into a host's settings. What stands there under other names stays.
func settled(name string, values object) error {
	settings := object{}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("{}"), os.MkdirAll(filepath.Dir(name), 0o700)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return err
	}
	if had, ok := settings["projects"].(object); ok { // trusted before
		if more, ok := values["projects"].(object); ok {
			maps.Copy(had, more)
			values["projects"] = had
		}
	}
	maps.Copy(settings, values)
	if text, err = json.MarshalIndent(settings, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
