package ecosystemport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Provisioners are the scripts that bring environments up and take them down, and what those are given.
type Provisioners interface {
	// Script is the script of that provisioner: the ecosystem's own, else the workspace's. It runs nothing. It fails with spin.ErrMissing when
	// there is none, and with spin.ErrUnsafe for one that is no regular file inside the workspace root, or that others may write.
	Script(ctx context.Context, l ecosystem.Layout, name string) (ecosystem.Script, error)
	// Dir is the private directory of an environment, which is made when it is not there.
	Dir(ctx context.Context, l ecosystem.Layout, environment string) (string, error)
	// Inherited is the environment of this process: what of it is handed on is the caller's to decide.
	Inherited() []string
}
