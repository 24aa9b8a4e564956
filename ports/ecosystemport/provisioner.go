package ecosystemport

import (
	"context"

	"github.com/countersign-dev/countersign/domain/ecosystem"
)

// Provisioners finds the scripts of provisioners and prepares what they need.
type Provisioners interface {
	// Script returns the script of that provisioner: the ecosystem's own, else the workspace's. It runs nothing. It fails with ecosystem.ErrMissing if there is
	// none, and with ecosystem.ErrUnsafe for a script that is not a regular file inside the workspace root, or that others can write.
	Script(ctx context.Context, l ecosystem.Layout, name string) (ecosystem.Script, error)
	// Dir returns the private directory of an environment and creates it if needed.
	Dir(ctx context.Context, l ecosystem.Layout, environment string) (string, error)
	// Inherited returns the environment of this process. The caller decides what to pass on.
	Inherited() []string
}
