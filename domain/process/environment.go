package process

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/redact"
)

// ChildEnvironment returns the whole environment of a child (packageflow-security contract §4.8). Of the inherited one it has the names a program
// needs to work at all and those in pass, which the user opted in; nothing else, so no key that happens to be set here reaches a
// script. It asks programs to be quiet and to ask nobody, appends toolchains (absolute directories) to PATH, and puts settings on top,
// without those that CheckEnv refuses. Whatever it gives is accepted by Spec.Validate.
//
// The second result are the values in it that are secret by their name (redact.IsSecretKey), for Spec.Secrets.
func ChildEnvironment(inherited, pass []string, settings map[string]string, toolchains []string) (env map[string]string, secrets []string) {
	env = map[string]string{}
	for _, pair := range inherited {
		name, value, _ := strings.Cut(pair, "=")
		if !passes(name) && !slices.Contains(pass, name) || checkVariable(name, value) != nil {
			continue
		}
		if isProxy(name) {
			value = withoutUserinfo(value)
		}
		env[name] = value
	}
	if path := searchPath(env["PATH"], toolchains); path != "" && len(path) <= MaxEnvBytes {
		env["PATH"] = path
	}
	maps.Copy(env, map[string]string{"CI": "true", "NO_COLOR": "1", "FORCE_COLOR": "0", "GIT_TERMINAL_PROMPT": "0"})
	for name, value := range settings {
		if !refused(name) && checkVariable(name, value) == nil {
			env[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if env[name] != "" && redact.IsSecretKey(name) {
			secrets = append(secrets, env[name])
		}
	}
	return env, secrets
}

// CheckEnv fails with ErrEnv when env sets what would exchange programs, or what they load, under the hands of whoever confirmed the
// command (packageflow-security contract §4.8, "refuse"), and with ErrSpec for what is no variable. Names count in any case of letters,
// because some readers, npm among them, do not tell cases apart. No message repeats a value.
func CheckEnv(env map[string]string) error {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if err := checkVariable(name, env[name]); err != nil {
			return err
		}
		if refused(name) {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return ErrEnv.Sayf("the environment may not set %s: that would change which programs run or what they load; leave it out", strings.Join(bad, ", "))
}

func checkVariable(name, value string) error {
	if !isVariable(name) {
		return ErrSpec.Sayf("%q is no name of an environment variable", name)
	}
	if hasNUL(value) || len(value) > MaxEnvBytes { // the message leaves the value out: it may be a secret
		return ErrSpec.Sayf("the environment variable %s contains NUL or has more than %d bytes", name, MaxEnvBytes)
	}
	return nil
}

// isVariable reports a name that shells know as a variable's.
func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// passes is the contract's row "pass".
func passes(name string) bool {
	switch name {
	case "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TEMP", "TMP", "LANG", "TZ", "TERM",
		"VOLTA_HOME", "FNM_DIR", "NVM_DIR", "PNPM_HOME", "BUN_INSTALL", "COREPACK_HOME", "JAVA_HOME", "GOPATH", "CARGO_HOME", "RUSTUP_HOME",
		"ANDROID_HOME", "NO_PROXY", "no_proxy", "SystemRoot", "ComSpec", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || isProxy(name)
}

// isProxy: programs read these names in either case, some in lower case alone.
func isProxy(name string) bool {
	return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}, name)
}

// refused is the contract's row "refuse", and our own names.
func refused(name string) bool {
	name = strings.ToUpper(name)
	switch name {
	case "PATH", "NODE_OPTIONS", "NODE_PATH", "PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "RUBYOPT", "BASH_ENV", "ENV", "IFS", "PROMPT_COMMAND",
		"HOME", "SHELL":
		return true
	}
	return slices.ContainsFunc([]string{"LD_", "DYLD_", "GIT_", "NPM_CONFIG_", "COUNTERSIGN_", "PACKAGEFLOW_"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// withoutUserinfo returns a proxy's address, with or without a scheme, without the user and password in it.
func withoutUserinfo(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "", address
	} else {
		scheme += "://"
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 || strings.Contains(rest[end:], "@") { // a password may hold what it should have escaped
		end = len(rest)
	}
	return scheme + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}

// searchPath is path with the directories that are not in it at its end: what the user chose comes first.
func searchPath(path string, more []string) string {
	var dirs []string
	if path != "" {
		dirs = strings.Split(path, ":")
	}
	for _, dir := range more {
		if strings.HasPrefix(dir, "/") && !strings.ContainsAny(dir, ":\x00") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}
