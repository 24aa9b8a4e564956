package sandboxfile

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/domain/sandbox"
	"github.com/countersign-dev/countersign/ports/sandboxport"
)

const (
	passwordVariable = "OPENCODE_PASSWORD"
	tokenVariable    = "MCP_BEARER_TOKEN"
	placeholder      = "CHANGE_ME_REQUIRED"
	passwordBytes    = 16 // of randomness (opencode contract §18)
	tokenBytes       = 32
	limit            = 256 << 10
	loopback         = "127.0.0.1"
)

// SettingsFiles are where settings come from. All fields are needed.
type SettingsFiles struct {
	Global  string                   // path of the global file
	Expand  func(path string) string // ~ and relative paths made absolute
	Env     func(name string) string
	Environ func() []string
}

// ConfigurationFault is what is wrong with the global settings file, for callers that read more than text.
type ConfigurationFault struct {
	File    string   `json:"config_file"`
	Missing []string `json:"missing_keys,omitempty"`
	Unset   []string `json:"unset_keys,omitempty"` // still with the placeholder
	Mode    string   `json:"mode,omitempty"`
}

// hostName is compiled when it is needed, not at every start.
const hostName = `^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`

// DefaultSettings returns the text of a global file with fresh random secrets, which are nowhere else.
func DefaultSettings() []byte {
	return []byte("# Settings of Countersign's sandboxes. This file contains secrets: do not share it.\n\n" +
		"# The password of all agent servers.\n" + passwordVariable + "=" + secret(passwordBytes) + "\n\n" +
		"# The bearer token of the gateway.\n" + tokenVariable + "=" + secret(tokenBytes) + "\n\n" +
		"# Optional: the program of the agent server, an absolute path or a name on the PATH.\n# OPENCODE_BIN=\n")
}

func secret(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// ReadSettings returns a file that users write, wherever a link of theirs leads.
func ReadSettings(path string) ([]byte, fs.FileInfo, error) {
	dir, name := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		dir, name = filepath.Split(real)
	}
	return docfile.NewDir(dir).Read(name, limit)
}

// Settings returns the global ones and those of a project, whose file is at own; empty for none. It fails with sandbox.ErrConfiguration for the global
// file, and with sandbox.ErrConfig for a single setting.
func (s SettingsFiles) Settings(own string) (sandboxport.Settings, error) {
	global, err := s.global()
	if err != nil {
		return sandboxport.Settings{Environ: s.environ()}, err
	}
	l := lookup{own: map[string]string{}, global: global, env: s.Env}
	if own != "" {
		if l.own, err = project(own); err != nil {
			return sandboxport.Settings{}, err
		}
	}
	settings := sandboxport.Settings{
		Password: global[passwordVariable], GatewayToken: global[tokenVariable], Host: l.host(),
		Port: l.number("OPENCODE_PORT", l.own["OPENCODE_PORT"], 65535), MemoryLimitMB: l.number("OPENCODE_MEMORY_LIMIT_MB", l.limit("OPENCODE_MEMORY_LIMIT_MB"), 1<<30),
		IdleStop: l.duration("OPENCODE_IDLE_STOP"), AllowCommands: l.yes("OPENCODE_ALLOW_START_COMMAND"), SSHKey: l.own["SSH_KEY_PATH"],
		Args: l.args(),
	}
	if settings.SSHKey != "" {
		settings.SSHKey = s.Expand(settings.SSHKey)
	}
	settings.Environ = s.environ(settings.Password, settings.GatewayToken)
	settings.Bin, settings.Missing = s.program(l, own)
	if l.err != nil {
		return sandboxport.Settings{}, l.err
	}
	return settings, nil
}

// global returns the global file, complete.
func (s SettingsFiles) global() (map[string]string, error) {
	path := s.Global
	text, info, err := ReadSettings(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, sandbox.ErrConfiguration.WithMessage("%s not found; run \"countersign sandbox init\" in a terminal to create it with random secrets", path).
			WithDetails(ConfigurationFault{File: path})
	case err != nil:
		return nil, sandbox.ErrConfiguration.WithMessage("%s cannot be read", path).WithDetails(ConfigurationFault{File: path}).WithCause(err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, sandbox.ErrConfiguration.WithMessage("%s contains secrets, and other users can read it (mode %04o); run: chmod 600 %s", path, mode, settingQuoted(path)).
			WithDetails(ConfigurationFault{File: path, Mode: strconv.FormatUint(uint64(mode), 8)})
	}
	values, _ := sandbox.ParseEnvFile(string(text))
	problem := ConfigurationFault{File: path}
	for _, key := range []string{passwordVariable, tokenVariable} {
		switch values[key] {
		case "":
			problem.Missing = append(problem.Missing, key)
		case placeholder:
			problem.Unset = append(problem.Unset, key)
		}
	}
	if lacking := slices.Concat(problem.Missing, problem.Unset); len(lacking) > 0 {
		return nil, sandbox.ErrConfiguration.WithMessage("%s has no value for %s; add a line KEY=VALUE with a long random value for each, such as the output of openssl rand -hex 32",
			path, strings.Join(lacking, " and ")).WithDetails(problem)
	}
	return values, nil
}

// settingQuoted returns a path as a shell takes it.
func settingQuoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// project returns a project's settings; none when there is no file.
func project(path string) (map[string]string, error) {
	text, _, err := ReadSettings(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, sandbox.ErrConfig.WithMessage("%s cannot be read", path).WithCause(err)
	}
	values, _ := sandbox.ParseEnvFile(string(text))
	return values, nil
}

// Reached returns where servers are reached, whatever they listen on; usable without a complete configuration.
func (s SettingsFiles) Reached() string {
	text, _, err := ReadSettings(s.Global)
	if err != nil {
		text = nil
	}
	values, _ := sandbox.ParseEnvFile(string(text))
	l := lookup{global: values, env: s.Env}
	host := l.host()
	if ip := net.ParseIP(host); l.err != nil || ip != nil && ip.IsUnspecified() {
		return loopback
	}
	return host
}

// environ is this process's environment without our own secrets, under whatever name they are.
func (s SettingsFiles) environ(secrets ...string) []string {
	return slices.DeleteFunc(slices.Clone(s.Environ()), func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case passwordVariable, "OPENCODE_SERVER_PASSWORD", tokenVariable, "GLOBAL_MCP_BEARER_TOKEN":
			return true
		}
		return strings.HasPrefix(name, "COUNTERSIGN_") || value != "" && slices.Contains(secrets, value)
	})
}

// lookup finds single settings; the first one that cannot be used stays in err.
type lookup struct {
	own, global map[string]string
	env         func(string) string
	err         error
}

// limit returns a setting of the machine: this process's environment, else the global file.
func (l *lookup) limit(key string) string {
	if value := strings.TrimSpace(l.env(key)); value != "" {
		return value
	}
	return l.global[key]
}

func (l *lookup) bad(key, want string) {
	if l.err == nil {
		l.err = sandbox.ErrConfig.WithMessage("invalid value of %s; use %s", key, want)
	}
}

func (l *lookup) host() string {
	host := l.limit("OPENCODE_HOSTNAME")
	if host == "" {
		return loopback
	}
	if net.ParseIP(host) == nil && !regexp.MustCompile(hostName).MatchString(host) {
		l.bad("OPENCODE_HOSTNAME", "an IP address or a host name")
		return loopback
	}
	return host
}

// args returns how the server's program serves, of the project or of the machine.
func (l *lookup) args() string {
	const key = "OPENCODE_SERVER_ARGS"
	args := cmp.Or(l.own[key], l.limit(key))
	if args != "" && !strings.Contains(args, "{port}") {
		l.bad(key, "the program's arguments with {port}, and {host} if needed")
	}
	return args
}

func (l *lookup) number(key, value string, highest int) int {
	if value == "" || value == "0" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > highest {
		l.bad(key, "a whole number from 1 to "+strconv.Itoa(highest))
		return 0
	}
	return n
}

func (l *lookup) duration(key string) time.Duration {
	value := l.limit(key)
	if value == "" || value == "0" {
		return 0
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		l.bad(key, "a duration such as 30m or 2h, or 0 for never")
		return 0
	}
	return d
}

// yes returns a boolean setting, true by default.
func (l *lookup) yes(key string) bool {
	switch strings.ToLower(l.limit(key)) {
	case "", "1", "true", "yes", "on":
		return true
	case "0", "false", "no", "off":
		return false
	}
	l.bad(key, "true or false")
	return false
}
