package local

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
)

// DefaultToolsets are the toolsets enabled by default: few enough tools for every host.
const DefaultToolsets = "packs,deployments"

// ErrConfig is returned for an invalid environment variable, flag or configuration file. Nothing runs with a guessed configuration.
var ErrConfig = fault.New(fault.Invalid, "config_invalid", "invalid configuration")

// file is COUNTERSIGN_HOME/config.yaml. Every entry but notify has an environment variable, which outranks it.
type file struct {
	Toolsets   []string `yaml:"toolsets"`
	Tools      []string `yaml:"tools"`
	Exclude    []string `yaml:"exclude_tools"`
	ReadOnly   string   `yaml:"read_only"`
	Mode       string   `yaml:"mode"`
	MaxMode    string   `yaml:"max_mode"`
	Approval   string   `yaml:"approval"`
	Level      string   `yaml:"permission_level"`
	ConfirmTTL string   `yaml:"confirm_ttl"`
	Packs      struct {
		Root    string            `yaml:"root"`
		Source  string            `yaml:"source_root"`
		Sources map[string]string `yaml:"source_roots"`
	} `yaml:"packs"`
	Notify notifyFile `yaml:"notify"`
}

// settings reads the entries one by one, from the environment or the file, and collects their errors.
type settings struct {
	env      func(string) string
	path     string // of config.yaml; empty if there is no file
	written  []byte // its content
	problems []string
}

// Environment returns the Config from environment variables and COUNTERSIGN_HOME/config.yaml, in that order of precedence. It fails with ErrConfig,
// naming every invalid entry.
func Environment(env func(string) string) (Config, error) {
	return EnvironmentOver(Config{Options: Defaults()}, env)
}

// EnvironmentOver is Environment on top of what an embedding program sets in code: Options.Policy, its built-in policy, and Trust.
func EnvironmentOver(c Config, env func(string) string) (Config, error) {
	c.Env, c.Toolsets, c.Known = env, strings.Split(DefaultToolsets, ","), secrets
	dir, err := c.home()
	if err != nil {
		return c, err
	}
	if err := (Config{Dir: dir}).archive().Resume(context.Background()); err != nil { // an interrupted restore may be about to put config.yaml back
		return c, err
	}
	s := &settings{env: env, path: filepath.Join(dir, "config.yaml")}
	f, err := s.read()
	if err != nil {
		return c, err
	}
	o := &c.Options
	o.Serve = app.Selection{Toolsets: s.list("COUNTERSIGN_TOOLSETS", f.Toolsets), Tools: s.list("COUNTERSIGN_TOOLS", f.Tools),
		Exclude: s.list("COUNTERSIGN_EXCLUDE_TOOLS", f.Exclude), ReadOnly: s.flag("COUNTERSIGN_READ_ONLY", f.ReadOnly)}
	o.Below = s.layers(f)
	if len(s.problems) == 0 {
		s.narrow(c, dir)
	}
	o.ConfirmTTL = s.ttl(f.ConfirmTTL)
	c.Packs = Packs{Root: s.text("CONTEXT_PACK_ROOT", f.Packs.Root), Source: s.text("CONTEXT_PACK_SOURCE_ROOT", f.Packs.Source), Sources: s.roots(f.Packs.Sources)}
	c.Notify = s.notify(f.Notify, c.Notify)
	if len(s.problems) > 0 {
		return c, ErrConfig.WithMessage("%s", strings.Join(s.problems, "; "))
	}
	return c, nil
}

// read returns the file, and keeps what it holds.
func (s *settings) read() (f file, err error) {
	path := s.path
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return f, nil
	case err != nil:
		return f, ErrConfig.WithMessage("%s cannot be read; make it readable, or move it away", path).WithCause(err)
	case strings.TrimSpace(string(data)) == "":
		return f, nil
	}
	if err := yamlcodec.Decode(data, &f, yamlcodec.Options{KnownFields: true, MaxBytes: 1 << 20}); err != nil {
		return f, ErrConfig.WithMessage("%s: %s", path, fault.From(err).Message)
	}
	s.written = data
	return f, nil
}

// text returns the variable, or what the file says.
func (s *settings) text(variable, written string) string {
	return first(strings.TrimSpace(s.env(variable)), strings.TrimSpace(written))
}

func (s *settings) list(variable string, written []string) []string {
	if v := s.env(variable); strings.TrimSpace(v) != "" {
		written = strings.Split(v, ",")
	}
	var out []string
	for _, name := range written {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// word reads a mode or level; absent leaves what is there.
func (s *settings) word(variable, written string, into interface{ UnmarshalText([]byte) error }) {
	v := s.text(variable, written)
	if v == "" {
		return
	}
	if err := into.UnmarshalText([]byte(v)); err != nil {
		s.wrong(variable, fault.From(err).Message)
	}
}

// wrong records a problem, naming the variable and its flag, or the entry in the file if neither is set.
func (s *settings) wrong(variable, problem string) {
	name, own := strings.CutPrefix(variable, "COUNTERSIGN_")
	switch {
	case own && s.path != "" && strings.TrimSpace(s.env(variable)) == "":
		s.problem(strings.ToLower(name), problem)
		return
	case own:
		variable += " (--" + strings.ReplaceAll(strings.ToLower(name), "_", "-") + ")"
	}
	s.problems = append(s.problems, variable+": "+problem)
}

// problem keeps what is wrong with an entry of the file, by its key (notify.reminder).
func (s *settings) problem(key, what string) {
	at := s.path
	if line := yamlcodec.Line(s.written, key); line > 0 {
		at += ": line " + strconv.Itoa(line)
	}
	s.problems = append(s.problems, at+": "+key+": "+what)
}

// truthy reports a word that means true.
func truthy(word string) bool {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "1", "true", "yes", "y", "on":
		return true
	}
	return false
}

func (s *settings) flag(variable, written string) bool {
	v := strings.ToLower(s.text(variable, written))
	if truthy(v) {
		return true
	}
	switch v {
	case "", "0", "false", "no", "off":
	default:
		s.wrong(variable, "\""+v+"\" is not true or false")
	}
	return false
}

func (s *settings) ttl(written string) time.Duration {
	const variable = "COUNTERSIGN_CONFIRM_TTL"
	v := s.text(variable, written)
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < confirm.MinTTL || d > confirm.MaxTTL {
		s.wrong(variable, "\""+v+"\" is not within "+confirm.MinTTL.String()+" and "+confirm.MaxTTL.String())
		return 0
	}
	return d
}

// roots reads name=directory pairs, separated by commas.
func (s *settings) roots(written map[string]string) map[string]string {
	const variable = "CONTEXT_PACK_SOURCE_ROOTS"
	out := maps.Clone(written)
	for _, pair := range s.list(variable, nil) {
		name, dir, ok := strings.Cut(pair, "=")
		name, dir = strings.TrimSpace(name), strings.TrimSpace(dir)
		if !ok || name == "" || dir == "" {
			s.wrong(variable, "\""+pair+"\" is not name=directory")
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = dir
	}
	return out
}

// secretNames are words in the names of environment variables whose values are secrets.
const secretNames = `(?i)(token|secret|passw(or)?d|api_?key|private_?key|access_?key|credential)`

// shortestSecret is the minimum length of a redacted value: shorter ones occur in ordinary text.
const shortestSecret = 8

// secrets returns the values of this process's environment variables whose names indicate secrets.
func secrets() []string {
	named := regexp.MustCompile(secretNames)
	var out []string
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if len(value) >= shortestSecret && named.MatchString(name) && !strings.HasPrefix(value, "/") {
			out = append(out, value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
