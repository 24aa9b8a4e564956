//go:build linux

package main

import (
	"encoding/json"
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
	command func(url string) (arguments, env []string)
	prepare func(home string) error
}

// prompt is what the person tells every host to do. The model does not read it.
const prompt = "do it"

func hosts() []host {
	return []host{
		{name: "claude-code", pkg: "@anthropic-ai/claude-code", version: "2.1.197", program: "claude", client: "claude-code", command: func(url string) ([]string, []string) {
			return []string{"-p", prompt, "--allowedTools", "mcp__countersign__*"},
				[]string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "ENABLE_TOOL_SEARCH=false"}
		}},
		{name: "codex", pkg: "@openai/codex", version: "0.169.0", program: "codex", client: "codex", command: func(url string) ([]string, []string) {
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", "model=gpt-5.1-codex", "-c", "model_provider=scripted",
				"-c", `model_providers.scripted={name="scripted",base_url="` + url + `/v1",wire_api="responses"}`, prompt}, []string{"OPENAI_API_KEY=none"}
		}},
		{name: "opencode", pkg: "opencode-ai", version: "1.18.33", program: "opencode", client: "opencode", command: func(url string) ([]string, []string) {
			config, _ := json.Marshal(object{"model": "scripted/m", "small_model": "scripted/m", "provider": object{"scripted": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": url + "/v1", "apiKey": "none"}, "models": object{"m": object{}}}}})
			return []string{"run", prompt}, []string{"OPENCODE_CONFIG_CONTENT=" + string(config), "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
		}},
		{name: "gemini-cli", pkg: "@google/gemini-cli", version: "0.61.0", program: "gemini", client: "gemini", command: func(url string) ([]string, []string) {
			return []string{"-y", "-p", prompt}, []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		}, prepare: keyless},
	}
}

// keyless has Gemini CLI log in with a key, trust where it is, and send nothing anywhere. What stands in its settings stays.
func keyless(home string) error {
	name, settings := filepath.Join(home, ".gemini", "settings.json"), object{}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return err
	}
	settings["security"] = object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}}
	settings["general"] = object{"enableAutoUpdate": false}
	settings["telemetry"] = object{"enabled": false}
	if text, err = json.MarshalIndent(settings, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
