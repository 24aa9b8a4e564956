package process_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/process"
)

func quiet(more map[string]string) map[string]string {
	env := map[string]string{"CI": "true", "NO_COLOR": "1", "FORCE_COLOR": "0", "GIT_TERMINAL_PROMPT": "0"}
	for name, value := range more {
		env[name] = value
	}
	return env
}

// Every name of the contract's table, on the side it is on.
func TestEnvironmentPassesAndDrops(t *testing.T) {
	for _, name := range strings.Fields(`HOME USER LOGNAME SHELL PATH TMPDIR TEMP TMP LANG LC_ALL LC_CTYPE TZ TERM XDG_CONFIG_HOME XDG_RUNTIME_DIR VOLTA_HOME
		FNM_DIR NVM_DIR PNPM_HOME BUN_INSTALL COREPACK_HOME JAVA_HOME GOPATH CARGO_HOME RUSTUP_HOME ANDROID_HOME HTTP_PROXY HTTPS_PROXY http_proxy
		https_proxy NO_PROXY no_proxy SystemRoot ComSpec PATHEXT APPDATA LOCALAPPDATA USERPROFILE`) {
		env, secrets := process.ChildEnvironment([]string{name + "=/value"}, nil, nil, nil)
		assert.Equal(t, quiet(map[string]string{name: "/value"}), env, name)
		assert.Empty(t, secrets, name)
	}
	for _, name := range strings.Fields(`OPENAI_API_KEY ANTHROPIC_API_KEY ANTHROPIC_BASE_URL GEMINI_X GOOGLE_APPLICATION_CREDENTIALS AWS_REGION AZURE_TENANT
		GITHUB_TOKEN GH_TOKEN NPM_TOKEN PACKAGEFLOW_HOME COUNTERSIGN_HOME COUNTERSIGN_RUN_ID MCP_MODE CLAUDE CLAUDE_CONFIG CODEX_HOME GIT_DIR GIT_SSH_COMMAND
		npm_config_registry npm_config_user_agent SSH_AUTH_SOCK NODE_ENV NODE_OPTIONS LD_PRELOAD DYLD_INSERT_LIBRARIES BASH_ENV PYTHONPATH EDITOR PWD
		PATHX XPATH LC XDG path home CI FORCE_COLOR`) {
		env, secrets := process.ChildEnvironment([]string{name + "=value"}, nil, nil, nil)
		assert.Equal(t, quiet(nil), env, name)
		assert.Empty(t, secrets, name)
	}
	env, _ := process.ChildEnvironment([]string{"", "=C:=x", "NAME", "HOME=/a", "HOME=/b", "LC_A B=x", "LC_BIG=" + strings.Repeat("x", process.MaxEnvBytes+1), "LC_NUL=\x00"}, nil, nil, nil)
	assert.Equal(t, quiet(map[string]string{"HOME": "/b"}), env, "what is no variable is left out, and the last of a name counts")
}

func TestEnvironmentOptsIn(t *testing.T) {
	inherited := []string{"NPM_TOKEN=npm-secret", "SSH_AUTH_SOCK=/run/agent", "DATABASE_URL=postgres://u:p@h/d", "GITHUB_TOKEN=gh-secret", "EMPTY_TOKEN=", "NODE_ENV=test"}
	pass := []string{"NPM_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL", "EMPTY_TOKEN", "NODE_ENV", "NOT_SET"}
	env, secrets := process.ChildEnvironment(inherited, pass, map[string]string{"DEPLOY_PASSWORD": "hunter2", "PORT": "3000"}, nil)
	assert.Equal(t, quiet(map[string]string{
		"NPM_TOKEN": "npm-secret", "SSH_AUTH_SOCK": "/run/agent", "DATABASE_URL": "postgres://u:p@h/d", "EMPTY_TOKEN": "", "NODE_ENV": "test",
		"DEPLOY_PASSWORD": "hunter2", "PORT": "3000",
	}), env)
	assert.Equal(t, []string{"postgres://u:p@h/d", "hunter2", "npm-secret"}, secrets, "what is secret by its name, and has a value")
}

func TestEnvironmentSettings(t *testing.T) {
	settings := map[string]string{"CI": "false", "PATH": "/evil", "LD_PRELOAD": "/evil.so", "a b": "x", "NUL": "\x00", "TZ": "UTC"}
	env, _ := process.ChildEnvironment([]string{"PATH=/bin", "TZ=Europe/Vienna"}, nil, settings, nil)
	assert.Equal(t, quiet(map[string]string{"CI": "false", "PATH": "/bin", "TZ": "UTC"}), env, "settings overrule everything but what is refused")
	assert.NoError(t, process.Spec{Argv: []string{"x"}, Env: env}.Validate())
}

func TestEnvironmentSearchPath(t *testing.T) {
	for _, c := range []struct {
		inherited string
		more      []string
		want      string
	}{
		{"/usr/bin:/bin", nil, "/usr/bin:/bin"},
		{"/usr/bin:/bin", []string{"/opt/volta/bin", "/bin", "/opt/volta/bin"}, "/usr/bin:/bin:/opt/volta/bin"},
		{"/bin", []string{"", ".", "relative", "/a:b", "/a\x00b", "/ok"}, "/bin:/ok"},
		{"", []string{"/ok"}, "/ok"},
	} {
		env, _ := process.ChildEnvironment([]string{"PATH=" + c.inherited}, nil, nil, c.more)
		assert.Equal(t, c.want, env["PATH"])
	}
	env, _ := process.ChildEnvironment(nil, nil, nil, nil)
	assert.NotContains(t, env, "PATH")
}

func TestEnvironmentProxies(t *testing.T) {
	for in, want := range map[string]string{
		"http://proxy:8080":                 "http://proxy:8080",
		"http://user:p4ss@proxy:8080/":      "http://proxy:8080/",
		"https://user@proxy":                "https://proxy",
		"user:p4ss@proxy:3128":              "proxy:3128",
		"socks5://u:p@ss@proxy:1080":        "socks5://proxy:1080",
		"http://user:p/4ss@proxy:8080":      "http://proxy:8080",
		"http://user:p?4#ss@proxy:8080/pac": "http://proxy:8080/pac",
		"":                                  "",
	} {
		for _, name := range []string{"HTTP_PROXY", "https_proxy"} {
			env, _ := process.ChildEnvironment([]string{name + "=" + in}, []string{"HTTP_PROXY"}, nil, nil)
			assert.Equal(t, want, env[name], in)
		}
	}
}

func TestCheckEnv(t *testing.T) {
	require.NoError(t, process.CheckEnv(nil))
	require.NoError(t, process.CheckEnv(map[string]string{"NODE_ENV": "production", "PORT": "3000", "_x": "", "ENVIRONMENT": "a", "GITHUB_SHA": "b", "PATHS": "c", "LDFLAGS": "d"}))
	for _, name := range strings.Fields(`PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_PATH PYTHONSTARTUP PYTHONPATH PERL5OPT RUBYOPT
		BASH_ENV ENV IFS PROMPT_COMMAND GIT_DIR GIT_SSH npm_config_registry NPM_CONFIG_REGISTRY HOME SHELL COUNTERSIGN_RUN_ID Path node_options`) {
		err := process.CheckEnv(map[string]string{"OK": "1", name: "hunter2"})
		require.ErrorIs(t, err, process.ErrEnv, name)
		assert.ErrorContains(t, err, name)
		assert.NotContains(t, err.Error(), "hunter2")
	}
	err := process.CheckEnv(map[string]string{"SHELL": "x", "IFS": "y"})
	assert.ErrorContains(t, err, "IFS, SHELL", "all of them at once, in order")
	for name, value := range map[string]string{"": "x", "A-B": "x", "1A": "x", "A=B": "x", "NUL": "hunter2\x00", "BIG": strings.Repeat("hunter2", process.MaxEnvBytes)} {
		err := process.CheckEnv(map[string]string{name: value})
		require.ErrorIs(t, err, process.ErrSpec, name)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

// Whatever is inherited and set, a program can be started with the result, and nothing that is refused came from the settings.
func FuzzEnvironment(f *testing.F) {
	f.Add("PATH=/bin\nHOME=/root\nNPM_TOKEN=x", "NPM_TOKEN", "PORT", "3000", "/opt/bin")
	f.Add("http_proxy=http://a:b@c", "", "LD_PRELOAD", "x", "relative")
	f.Add("LC_\xff=\xff\nXDG_=\x00", "\xff", "\xff", "\xff", "/\xff")
	f.Fuzz(func(t *testing.T, inherited, pass, name, value, dir string) {
		env, secrets := process.ChildEnvironment(strings.Split(inherited, "\n"), []string{pass}, map[string]string{name: value}, []string{dir})
		require.NoError(t, process.Spec{Argv: []string{"x"}, Env: env}.Validate())
		if process.CheckEnv(map[string]string{name: value}) == nil {
			require.Equal(t, value, env[name])
		}
		for _, secret := range secrets {
			require.NotEmpty(t, secret)
			require.True(t, slices.ContainsFunc(append(strings.Split(inherited, "\n"), name+"="+value), func(pair string) bool { return strings.Contains(pair, secret) }))
		}
	})
}
