package process

import (
	"maps"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/redact"
)

// ChildEnvironment returns the whole environment of a child process (packageflow-security contract §4.8). It copies from inherited only the names
// that programs need to work and those in pass, which the user opted in, so no key that happens to be set here reaches a script. It sets variables
// that make programs quiet and non-interactive, appends toolchains (absolute directories) to PATH, and adds settings, except those that CheckEnv
// rejects. Spec.Validate accepts the result.
//
// The second result is the values that are secret by their name (redact.IsSecretKey), for Spec.Secrets.
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

// CheckEnv fails with ErrEnv if env sets a variable that replaces programs, or what they load, so that something other than the approved command
// would run (packageflow-security contract §4.8, "refuse"), and with ErrSpec for an invalid variable. Names are compared case-insensitively, because
// some readers, such as npm, ignore case. No message contains a value.
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
	return ErrEnv.WithMessage("the environment must not set %s, which changes which programs run or what they load; remove it", strings.Join(bad, ", "))
}

func checkVariable(name, value string) error {
	if !isVariable(name) {
		return ErrSpec.WithMessage("invalid environment variable name %q", name)
	}
	if hasNUL(value) || len(value) > MaxEnvBytes { // the message omits the value: it may be a secret
		return ErrSpec.WithMessage("the environment variable %s contains NUL or has more than %d bytes", name, MaxEnvBytes)
	}
	return nil
}

// isVariable reports whether a name is a valid shell variable.
func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// passes implements the contract's row "pass".
func passes(name string) bool {
	switch name {
	case "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TEMP", "TMP", "LANG", "TZ", "TERM",
		"VOLTA_HOME", "FNM_DIR", "NVM_DIR", "PNPM_HOME", "BUN_INSTALL", "COREPACK_HOME", "JAVA_HOME", "GOPATH", "CARGO_HOME", "RUSTUP_HOME",
		"ANDROID_HOME", "NO_PROXY", "no_proxy", "SystemRoot", "ComSpec", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || isProxy(name)
}

// isProxy reports whether the name is a proxy variable; programs read these in either case, some only in lower case.
func isProxy(name string) bool {
	return slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}, name)
}

// refused implements the contract's row "refuse", and covers our own names.
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

// withoutUserinfo returns a proxy address, with or without a scheme, without user and password.
func withoutUserinfo(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "", address
	} else {
		scheme += "://"
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 || strings.Contains(rest[end:], "@") { // a password may contain characters that should have been escaped
		end = len(rest)
	}
	return scheme + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}

// searchPath returns path with the missing directories of more appended: the user's own come first.
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
