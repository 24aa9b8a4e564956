package target

import (
	"strings"

	"github.com/countersign-dev/countersign/domain/deployment"
)

// CheckProjectRoot fails with ErrProject if a target's files for a project would go into the home directory, a directory above it, or the root of the
// file system, and nothing marks it as a project (agentpack contract §10.1). sep is the native path separator.
func CheckProjectRoot(p deployment.Locations, target string, sep byte) error {
	n := Paths{Sep: sep}
	root := n.Clean(p.ProjectRoot)
	homely := n.Root(root) || n.Absolute(p.UserHome) && deployment.IsBelow(root, n.Clean(p.UserHome), sep)
	if p.Marked || !homely {
		return nil
	}
	return noProject(p, []string{target})
}

// noProject returns ErrProject for a directory that is not a project.
func noProject(p deployment.Locations, targets []string) error {
	return deployment.ErrProject.WithMessage("%s is not a git worktree, so nothing is deployed to it for %s: run this in a project, give the directory with --project-root, or deploy the user's files with --scope user", p.ProjectRoot, strings.Join(targets, ", ")).
		WithDetails(deployment.ReasonDetails("project_unmarked", "edit_manifest_targets", "retry_command").Add("target", strings.Join(targets, ",")).AddPath("project_root", p.ProjectRoot))
}
