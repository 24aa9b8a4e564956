package deployport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
)

// Orgs reads the organisation's rules for a config repository. Only the policy commands may use it: nothing else reads agentpack.org.yaml.
type Orgs interface {
	// Org returns agentpack.org.yaml; found is false if there is none. It fails with ErrPolicyConfig, ErrPolicyVersion and ErrPermission.
	Org(ctx context.Context, repo string) (org governance.OrgConfig, found bool, err error)
	// OrgLock returns agentpack.org.lock.json, as Org does.
	OrgLock(ctx context.Context, repo string) (lock governance.Lock, found bool, err error)
	// DecodeLock decodes the bytes of a lockfile, such as an earlier one. It fails with ErrLock and ErrLockVersion.
	DecodeLock(data []byte, path string) (*deployment.Lock, error)
}

// Listed is a file that was found, or a path that could not be read.
type Listed struct {
	Path string // slash path below where the list begins
	Err  error  // why it (or the directory of that path) cannot be read; nil for a file
}

// Lister finds files.
type Lister interface {
	// List returns every regular file below an absolute directory, sorted by path, except in directories whose names are in skip. It follows only links to files
	// inside the directory. It fails with ErrPath if there is no such directory.
	List(ctx context.Context, dir string, skip []string) ([]Listed, error)
}

// Ancestry knows which commit came before another.
type Ancestry interface {
	// Parent returns the first parent of a commit; found is false if it has none that is known here. It fails with ErrGitRepo if dir is in no repository.
	Parent(ctx context.Context, dir, commit string) (parent string, found bool, err error)
}
