package target

import (
	"github.com/countersign-dev/countersign/domain/deployment"
)

// CheckProjectRoot fails with ErrProject where a target's files for a project would go into the home directory, something above it, or the root
// of everything, and nothing says that this is a project (agentpack contract §10.1). sep is the native path separator.
func CheckProjectRoot(p deployment.Place, target string, sep byte) error {
	n := Paths{Sep: sep}
	root := n.Clean(p.ProjectRoot)
	homely := n.Root(root) || n.Absolute(p.UserHome) && deployment.IsBelow(root, n.Clean(p.UserHome), sep)
	if p.Marked || !homely {
		return nil
	}
	return deployment.ErrProject.Sayf("target %s has files for a project, but %s is the home directory or lies above it, and is no git work tree: run this inside a project, name the project root, or set the target's scope to user", target, p.ProjectRoot).
		With(deployment.ReasonDetails("project_unmarked", "edit_manifest_targets", "retry_command").Add("target", target).AddPath("project_root", p.ProjectRoot))
}
