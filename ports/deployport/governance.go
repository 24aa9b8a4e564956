package deployport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/governance"
)

// Orgs reads what governs a config repository. Nothing but the policy commands may use it: the core never reads agentpack.org.yaml.
type Orgs interface {
	// Org is agentpack.org.yaml; found is false when there is none. It fails with ErrPolicyConfig, ErrPolicyVersion, ErrPermission.
	Org(ctx context.Context, repo string) (org governance.OrgConfig, found bool, err error)
	// OrgLock is agentpack.org.lock.json, likewise.
	OrgLock(ctx context.Context, repo string) (lock governance.Lock, found bool, err error)
	// DecodeLock reads a lockfile that stands nowhere, such as an earlier one. It fails with ErrLock and ErrLockVersion.
	DecodeLock(data []byte, path string) (*deployment.Lock, error)
}

// Listed is a file that was found, or something that could not be looked at.
type Listed struct {
	Path string // slash path below where the list begins
	Err  error  // why it (or the directory of that path) cannot be read; nil for a file
}

// Lister finds files.
type Lister interface {
	// List is every regular file below an absolute directory, sorted by path, but those in directories of the names in skip. Links are
	// followed to files inside the directory, and no others. It fails with ErrPath when there is no such directory.
	List(ctx context.Context, dir string, skip []string) ([]Listed, error)
}

// Ancestry knows which commit came before another.
type Ancestry interface {
	// Parent is the first parent of a commit; found is false when it has none, or none that is known here. It fails with ErrGitRepo when
	// dir is in no repository.
	Parent(ctx context.Context, dir, commit string) (parent string, found bool, err error)
}
