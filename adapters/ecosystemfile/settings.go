package ecosystemfile

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/docfile"
	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/fault"
)

// settingsFile is the user's settings, in the configuration directory (amof contract §20.8).
const settingsFile = "amof.yaml"

const maxSettings = 64 << 10

// file is amof.yaml.
type file struct {
	WorkspaceRoot string `yaml:"workspace_root"`
	DefaultMode   string `yaml:"default_mode"`
	MaxMode       string `yaml:"max_mode"`
	Confirm       string `yaml:"confirm"`
	TokenTTL      *int   `yaml:"token_ttl_seconds"`
	QueueParallel *int   `yaml:"queue_parallel"`
	RunTimeout    *int   `yaml:"run_timeout_seconds"`
}

// word is a setting that is one of a few words, number one within bounds; into is where it goes.
type word struct {
	key, variable string
	of            []string
	value         string
	into          *string
}

type number struct {
	key, variable string
	least, most   int
	value         *int
	into          *int
}

// Settings implements ecosystemport.Places. Its workspace root is the file's: what the environment says of that, Root knows.
func (f *PathFinder) Settings(ctx context.Context) (ecosystem.Settings, error) {
	s := ecosystem.Settings{QueueParallel: ecosystem.MaxParallel, RunTimeoutSeconds: int(ecosystem.RunTimeout.Seconds())}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	said, path, err := f.read()
	if err != nil {
		return ecosystem.Settings{}, err
	}
	modes := []string{"ask", "plan", "execute"}
	for _, w := range []word{
		{"default_mode", "AMOF_DEFAULT_MODE", modes, said.DefaultMode, &s.DefaultMode},
		{"max_mode", "AMOF_MAX_MODE", modes, said.MaxMode, &s.MaxMode},
		{"confirm", "AMOF_CONFIRM", []string{"token", "elicit", "terminal"}, said.Confirm, &s.Confirm},
	} {
		if err := f.word(w, path); err != nil {
			return ecosystem.Settings{}, err
		}
	}
	for _, n := range []number{
		{"token_ttl_seconds", "AMOF_TOKEN_TTL_SECONDS", 60, 900, said.TokenTTL, &s.TokenTTLSeconds},
		{"queue_parallel", "AMOF_QUEUE_PARALLEL", 1, 16, said.QueueParallel, &s.QueueParallel},
		{"run_timeout_seconds", "AMOF_SUBPROCESS_HARD_DEADLINE_SECONDS", 1, 24 * 3600, said.RunTimeout, &s.RunTimeoutSeconds},
		{"run_timeout_seconds", "AMOF_RUN_TIMEOUT_SECONDS", 1, 24 * 3600, nil, &s.RunTimeoutSeconds},
	} {
		if err := f.number(n, path); err != nil {
			return ecosystem.Settings{}, err
		}
	}
	s.WorkspaceRoot, err = f.root(said.WorkspaceRoot, path)
	return s, err
}

// root returns the workspace root that the settings name. The one that the environment names is taken before the settings are asked.
func (f *PathFinder) root(said, path string) (string, error) {
	if said == "" {
		return "", nil
	}
	if !filepath.IsAbs(said) && said != "~" && !strings.HasPrefix(said, "~/") {
		return "", ecosystem.ErrSettings.WithMessage("invalid workspace_root in %s: %q; use an absolute path, or one that begins with ~/", path, said)
	}
	return f.absolute(said)
}

// read returns the file, and where it is. An empty file, or none, says nothing.
func (f *PathFinder) read() (said file, path string, err error) {
	dir, err := f.ConfigDir()
	if err != nil {
		return said, "", err
	}
	path = filepath.Join(dir, settingsFile)
	text, _, err := docfile.NewDir(dir).Read(settingsFile, maxSettings)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return said, path, nil
	case err != nil:
		return said, path, ecosystem.ErrSettings.WithMessage("%s cannot be read; repair it, or move it away", path).WithCause(err)
	}
	doc, err := yamlcodec.Parse([]byte(withoutBOM(text)), yamlcodec.Options{})
	if err == nil && doc.Given() {
		err = doc.Load(&said, yamlcodec.Options{KnownFields: true})
	}
	if err != nil && pathBlank(text) {
		err = nil
	}
	if err != nil {
		return said, path, ecosystem.ErrSettings.WithMessage("%s is not valid: %s; the settings are workspace_root, default_mode, max_mode, confirm, token_ttl_seconds, queue_parallel and run_timeout_seconds",
			path, fault.From(err).Message)
	}
	return said, path, nil
}

// pathBlank reports a file of nothing but comments and empty lines, which for YAML is no document.
func pathBlank(text []byte) bool {
	for line := range strings.Lines(withoutBOM(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

func withoutBOM(text []byte) string { return strings.TrimPrefix(string(text), "\ufeff") }

func (f *PathFinder) word(w word, path string) error {
	source := w.key + " in " + path
	if value := f.env(w.variable); value != "" {
		source, w.value = w.variable, value
	}
	if w.value != "" && !slices.Contains(w.of, w.value) {
		return ecosystem.ErrSettings.WithMessage("%s is %.40q; use one of %s", source, w.value, strings.Join(w.of, ", "))
	}
	*w.into = w.value
	return nil
}

func (f *PathFinder) number(n number, path string) error {
	source := n.key + " in " + path
	if value := f.env(n.variable); value != "" {
		parsed, err := strconv.Atoi(value)
		if err != nil {
			return ecosystem.ErrSettings.WithMessage("%s is %.40q; use a whole number from %d to %d", n.variable, value, n.least, n.most)
		}
		source, n.value = n.variable, &parsed
	}
	if n.value == nil {
		return nil
	}
	if *n.value < n.least || *n.value > n.most {
		return ecosystem.ErrSettings.WithMessage("%s is %d; use a whole number from %d to %d", source, *n.value, n.least, n.most)
	}
	*n.into = *n.value
	return nil
}
