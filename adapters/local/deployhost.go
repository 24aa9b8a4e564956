package local

import (
	"context"
	"sync"

	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/gitcli/confgit"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/ports/deployport"
)

// Sources are modules' files: those of the repository itself, and those of git. It is a deployport.Sources.
type Sources struct {
	*configrepo.Files
	Repositories *confgit.Client
}

// Git implements deployport.Sources.
func (s Sources) Git(ctx context.Context, at deployment.Locations, g deployment.ResolvedGit, offline bool) (deployment.Tree, error) {
	return s.Repositories.Git(ctx, at, g, offline)
}

// Resolve implements deployport.Sources.
func (s Sources) Resolve(ctx context.Context, g deployment.GitSource) (string, error) {
	return s.Repositories.Resolve(ctx, g)
}

// Branch is that of Repositories.
func (s Sources) Branch(ctx context.Context, url string) (string, error) {
	return s.Repositories.Branch(ctx, url)
}

// Discard implements deployport.Sources.
func (s Sources) Discard(ctx context.Context, at deployment.Locations, g deployment.ResolvedGit) error {
	return s.Repositories.Discard(ctx, at, g)
}

// Configs makes the tables of targets when the first manifest is read, and has what is remembered of files read in meanwhile: whoever
// loads a manifest asks for its modules next.
type Configs struct {
	made  func() *configrepo.Configs
	index *observe.Index
}

// NewConfigs is the config repositories of this machine. It reads nothing yet.
func NewConfigs(index *observe.Index) Configs {
	return Configs{index: index, made: sync.OnceValue(func() *configrepo.Configs {
		scopes := map[string][]deployment.Scope{}
		for _, name := range target.TargetNames() {
			scopes[name] = target.TargetScopes(name)
		}
		return configrepo.NewConfigs(scopes)
	})}
}

// Load implements deployport.Configs.
func (c Configs) Load(ctx context.Context, repo string) (deployport.Config, error) {
	go c.index.Load()
	return c.made().Load(ctx, repo)
}

// Edit implements deployport.Configs.
func (c Configs) Edit(ctx context.Context, repo string, edits ...deployport.ManifestEdit) (deployment.Write, error) {
	return c.made().Edit(ctx, repo, edits...)
}

// EncodeLock implements deployport.Configs.
func (c Configs) EncodeLock(l deployment.Lock) ([]byte, error) { return c.made().EncodeLock(l) }

// Frontmatter implements deployport.Configs.
func (c Configs) Frontmatter(doc []byte) (fields map[string]any, found bool, err error) {
	return c.made().Frontmatter(doc)
}
