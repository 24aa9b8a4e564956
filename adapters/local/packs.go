package local

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/packs"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/tool"
)

// DefaultPackRoot is the default directory of packs, below the working directory (context-pack contract §6.6).
const DefaultPackRoot = ".agents/mcp/context_pack"

// Packs is where context packs are kept and what they may quote. Relative directories are below the working directory.
type Packs struct {
	Root    string            // default $CONTEXT_PACK_ROOT, else DefaultPackRoot
	Source  string            // the default source root; default $CONTEXT_PACK_SOURCE_ROOT, else the working directory
	Sources map[string]string // further source roots by name; a ref names its root
}

// complete makes every directory absolute.
func (p Packs) complete(env func(string) string) (Packs, error) {
	if p.Root == "" {
		p.Root = first(strings.TrimSpace(env("CONTEXT_PACK_ROOT")), DefaultPackRoot)
	}
	if p.Source == "" {
		p.Source = env("CONTEXT_PACK_SOURCE_ROOT")
	}
	p.Source = sourceRoot(p.Source)
	p.Sources = maps.Clone(p.Sources)
	for _, dir := range []*string{&p.Root, &p.Source} {
		if err := absolute(dir); err != nil {
			return p, err
		}
	}
	for name, dir := range p.Sources {
		if err := absolute(&dir); err != nil {
			return p, err
		}
		if _, err := pack.ParseRoot(name); err != nil || name == "" {
			return p, app.ErrWiring.WithMessage("invalid source root name %q; use letters, digits, - and _", name)
		}
		p.Sources[name] = dir
	}
	return p, nil
}

// sourceRoot reads the value of CONTEXT_PACK_SOURCE_ROOT: some words mean the working directory (context-pack contract §6.6).
func sourceRoot(value string) string {
	value = strings.TrimSpace(value)
	switch strings.ToLower(value) {
	case "", "cwd", "session_cwd", "__session_cwd__":
		return "."
	}
	return value
}

func absolute(dir *string) error {
	if rest, ok := strings.CutPrefix(*dir, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			*dir = filepath.Join(home, rest)
		}
	}
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return app.ErrWiring.WithMessage("the working directory no longer exists; change to another one (cd) and repeat the command").WithCause(err)
	}
	*dir = abs
	return nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// packs returns the toolset packs, and the upkeep of its store.
func (l *Local) packs(core app.Dependencies) []toolset {
	p := l.config.Packs
	store := sync.OnceValue(func() *packfile.Store {
		listing := "packs-" + canon.SumBytes("pack.root.v1", []byte(p.Root)).Hex()[:16] + ".idx"
		s := packfile.New(p.Root, core.Clock).Remember(filepath.Join(l.config.Dir, "cache", listing))
		if l.config.Options.Serve.ReadOnly {
			s.LookOnly()
		}
		return s
	})
	return []toolset{
		{name: packs.Name, build: func() tool.Capability {
			roots := map[pack.Root]string{"": p.Source}
			var named []pack.Root
			for _, name := range slices.Sorted(maps.Keys(p.Sources)) {
				roots[pack.Root(name)] = p.Sources[name]
				named = append(named, pack.Root(name))
			}
			return packs.Capability(packs.Deps{Repo: store(), Excerpts: packfile.NewSource(roots), History: gitcli.NewHistory(roots), Clock: core.Clock, IDs: core.IDs,
				Roots: named, Mask: func(lines []string) ([]string, int) { return core.Redact().Lines(lines) }})
		}},
		{name: Upkeep, build: func() tool.Capability { return upkeep(store()) }},
	}
}
