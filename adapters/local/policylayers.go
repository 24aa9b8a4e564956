package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/policy"
)

// Trust is the location of the policy layers that no caller of a command line chooses. The zero Trust is the machine's own; tests and embedding
// programs set others in code, never by a variable (consent design, section 5).
type Trust struct {
	SystemFile  string // the system's policy; default SystemPolicy. It counts only if root owns it and no other user may write it
	AnyOwner    bool   // the file counts for any owner
	AccountHome string // the account's own directory; default that of the account database, not $HOME
}

// SystemPolicy returns the system's policy file on this operating system.
func SystemPolicy() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/countersign/policy.yaml"
	case "windows":
		return filepath.Join(os.Getenv("ProgramData"), "countersign", "policy.yaml")
	}
	return "/etc/countersign/policy.yaml"
}

// systemFile is the system's policy: keys of config.yaml, and what proofs are required.
type systemFile struct {
	Approval string            `yaml:"approval"`
	Level    string            `yaml:"permission_level"`
	Mode     string            `yaml:"mode"`
	MaxMode  string            `yaml:"max_mode"`
	ReadOnly string            `yaml:"read_only"`
	Require  map[string]string `yaml:"require"`
	Forget   []string          `yaml:"forget_keys"` // IDs of enrolled keys that no longer count
}

// forgotten returns the ids of the enrolled keys that the system's file clears.
func (t Trust) forgotten() ([]string, error) {
	f, _, _, err := t.read()
	return f.Forget, err
}

// system returns the layer of the system policy, and false if there is none.
func (t Trust) system() (policy.Layer, bool, error) {
	f, path, there, err := t.read()
	if err != nil || !there {
		return policy.Layer{}, false, err
	}
	s := &settings{env: func(string) string { return "" }}
	l := policy.Layer{Name: path, Answered: true, ReadOnly: s.flag("read_only", f.ReadOnly)}
	s.word("approval", f.Approval, &l.Approval)
	s.word("permission_level", f.Level, &l.Level)
	s.word("mode", f.Mode, &l.Mode)
	s.word("max_mode", f.MaxMode, &l.Ceiling)
	for key, word := range f.Require {
		var needs policy.Proving
		s.word("require "+key, word, &needs)
		if l.Require == nil {
			l.Require = map[string]policy.Proving{}
		}
		l.Require[key] = needs
	}
	if len(s.problems) > 0 {
		return l, false, ErrConfig.WithMessage("%s: %s", path, strings.Join(s.problems, "; "))
	}
	return l, true, nil
}

// read returns the system's file, its path, and whether it exists. A file that users other than root may write is an error: it would let them disable
// approvals.
func (t Trust) read() (f systemFile, path string, there bool, err error) {
	path = t.SystemFile
	if path == "" {
		path = SystemPolicy()
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, path, false, nil
	case err != nil:
		return f, path, false, ErrConfig.WithMessage("%s cannot be read; make it readable, or remove it", path).WithCause(err)
	case !t.AnyOwner && !rootsAlone(path, info):
		return f, path, false, ErrConfig.WithMessage("%s is ignored, because users other than root can write it; run: chown root %[1]s && chmod go-w %[1]s", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return f, path, false, ErrConfig.WithMessage("%s cannot be read; make it readable, or remove it", path).WithCause(err)
	}
	if strings.TrimSpace(string(data)) != "" {
		if err := yamlcodec.Decode(data, &f, yamlcodec.Options{KnownFields: true, MaxBytes: 1 << 20}); err != nil {
			return f, path, false, ErrConfig.WithMessage("%s: %s", path, fault.From(err).Message)
		}
	}
	return f, path, true, nil
}

// home returns Countersign's directory below the account's own directory; empty if the account is unknown.
func (t Trust) home() string {
	dir := t.AccountHome
	if dir == "" {
		me, err := user.LookupId(strconv.Itoa(os.Getuid())) // not user.Current, which falls back to $HOME
		if err != nil || me.HomeDir == "" {
			return ""
		}
		dir = me.HomeDir
	}
	return filepath.Join(dir, ".countersign")
}

// account returns the settings in the account's own directory if this home is another one and they exist; nil otherwise.
func (t Trust) account(dir string) (*sqlitestore.Store, func() error) {
	own := t.home()
	if own == "" || same(own, dir) {
		return nil, nil
	}
	path := filepath.Join(own, database)
	if _, err := os.Lstat(path); err != nil {
		return nil, nil
	}
	store := sqlitestore.Open(path)
	return store, store.Close
}

// same reports whether two paths are one directory.
func same(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	if err == nil && otherErr == nil {
		return os.SameFile(one, other)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// cloned reports a directory inside a git worktree: what is stored there may have come with a clone, and widens nothing.
func cloned(dir string) bool {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return true
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	for {
		if _, err := os.Lstat(filepath.Join(abs, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(abs)
		if above == abs {
			return false
		}
		abs = above
	}
}

// layers returns the layer of config.yaml, and that of variables and their flags.
func (s *settings) layers(f file) []policy.Layer {
	written := policy.Layer{Name: "config.yaml"}
	given := policy.Layer{Name: "the environment or a flag"}
	for _, l := range []struct {
		variable, written string
		of                func(*policy.Layer) interface{ UnmarshalText([]byte) error }
	}{
		{"COUNTERSIGN_MODE", f.Mode, func(l *policy.Layer) interface{ UnmarshalText([]byte) error } { return &l.Mode }},
		{"COUNTERSIGN_MAX_MODE", f.MaxMode, func(l *policy.Layer) interface{ UnmarshalText([]byte) error } { return &l.Ceiling }},
		{"COUNTERSIGN_PERMISSION_LEVEL", f.Level, func(l *policy.Layer) interface{ UnmarshalText([]byte) error } { return &l.Level }},
		{"COUNTERSIGN_APPROVAL", f.Approval, func(l *policy.Layer) interface{ UnmarshalText([]byte) error } { return &l.Approval }},
	} {
		for _, from := range []struct {
			into  *policy.Layer
			value string
		}{{&written, l.written}, {&given, s.env(l.variable)}} {
			value := strings.TrimSpace(from.value)
			if l.variable == "COUNTERSIGN_APPROVAL" && value == "host" {
				value = policy.ApprovalCaller.String() // its former name
			}
			if value == "" {
				continue
			}
			if err := l.of(from.into).UnmarshalText([]byte(value)); err != nil {
				s.wrong(l.variable, fault.From(err).Message)
			}
		}
	}
	return []policy.Layer{written, given}
}

// narrow rejects, at start, configuration that would widen a layer above it. The user's stored settings are read only if an entry might.
func (s *settings) narrow(c Config, dir string) {
	wide := false
	for _, l := range c.Options.Below {
		wide = wide || l.Approval.ByCaller() || l.Level > policy.ReadOnly || l.Ceiling > policy.Ask || l.Mode > policy.Ask
	}
	if !wide {
		return
	}
	layers, err := c.Trust.above(dir, c.upgraded)
	if err != nil {
		s.problems = append(s.problems, fault.From(err).Message)
		return
	}
	if _, err := os.Stat(filepath.Join(dir, database)); err == nil {
		store := sqlitestore.Open(filepath.Join(dir, database))
		store.OnUpgrade(c.upgraded)
		if now, err := store.Load(context.Background()); err == nil && now.Revision > 0 {
			l := now.Layer("your settings", true)
			layers = append(layers, l)
		}
		_ = store.Close()
	}
	for _, w := range policy.Resolve(c.Options.Policy, append(layers, c.Options.Below...)...).Wider {
		if w.Key == "permission_level" && w.By == policy.BuiltIn { // it still asks until the user approves
			continue
		}
		from, way := w.By, "change "+w.By
		if from == policy.BuiltIn {
			from, way = "the default", "have the user allow it"
		}
		if w.Key == "approval" {
			way = "have the user run: countersign policy approval caller"
		}
		s.problems = append(s.problems, fmt.Sprintf("%s says %s: %s, which is looser than %s (%s), and may only be tighter; take it out there, or %s", w.Layer, w.Key, w.Value, w.Than, from, way))
	}
}

// above returns the layers above the user's settings in this home: the system's file, and the settings in the account's own directory.
func (t Trust) above(dir string, upgraded func(sqlitestore.Upgrade)) ([]policy.Layer, error) {
	layers, err := t.fixed(dir)
	if err != nil {
		return nil, err
	}
	if store, closing := t.account(dir); store != nil {
		store.OnUpgrade(upgraded)
		if now, err := store.Load(context.Background()); err == nil && now.Revision > 0 {
			layers = append(layers, now.Layer("your settings (account)", true))
		}
		_ = closing()
	}
	return layers, nil
}

// fixed returns the layers that do not change while the process runs: the system's file, and mandatory user approval in a home that may have come
// with a clone. In such a home, other than the account's own, stored grants do not let a call run either: another user may have given them.
func (t Trust) fixed(dir string) ([]policy.Layer, error) {
	var layers []policy.Layer
	system, ok, err := t.system()
	if err != nil {
		return nil, err
	}
	if ok {
		layers = append(layers, system)
	}
	if cloned(dir) && !(ok && system.Approval.ByCaller()) {
		holds := policy.Layer{Name: "a home inside a git worktree (" + dir + ")", Approval: policy.ApprovalHuman}
		if t.strange(dir) {
			holds.Whole = true
			if !ok || system.Level == policy.LevelUnset {
				holds.Level = policy.ExecuteWithConfirm
			}
		}
		layers = append(layers, holds)
	}
	return layers, nil
}

// strange reports a home that may have come with a clone and is not the account's own.
func (t Trust) strange(dir string) bool {
	own := t.home()
	return cloned(dir) && (own == "" || !same(own, dir))
}
