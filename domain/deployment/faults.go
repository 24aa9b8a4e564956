package deployment

import "github.com/countersign-dev/countersign/domain/fault"

// The errors of the capability. Each stands for one code of the agentpack contract §6.2, which the presenter knows; the last group is Countersign's
// own.
var (
	ErrYes               = fault.New(fault.Unconfirmed, "deployment_yes_required", "this call changes files; repeat it with yes: true (--yes) when it is approved")
	ErrAdopt             = fault.New(fault.Unconfirmed, "deployment_adopt_required", "unmanaged or modified files would be overwritten; review them, then repeat with adopt")
	ErrTTY               = fault.New(fault.Invalid, "deployment_tty_required", "the guided setup needs a terminal")
	ErrImportConflict    = fault.New(fault.Conflict, "deployment_import_conflict", "imported files would overwrite existing ones")
	ErrConfigMissing     = fault.New(fault.NotFound, "deployment_config_missing", "agentpack.yaml not found")
	ErrConfig            = fault.New(fault.Invalid, "deployment_config_invalid", "the configuration is not valid")
	ErrConfigVersion     = fault.New(fault.Invalid, "deployment_config_version", "the version of agentpack.yaml is not supported")
	ErrLockMissing       = fault.New(fault.NotFound, "deployment_lock_missing", "agentpack.lock.json not found, but a module comes from git")
	ErrLock              = fault.New(fault.Invalid, "deployment_lock_invalid", "agentpack.lock.json is not valid")
	ErrLockVersion       = fault.New(fault.Invalid, "deployment_lock_version", "the version of agentpack.lock.json is not supported")
	ErrTarget            = fault.New(fault.Invalid, "deployment_target_unsupported", "unknown target")
	ErrDesired           = fault.New(fault.Conflict, "deployment_desired_conflict", "two modules write different content to one file")
	ErrOverlayMissing    = fault.New(fault.NotFound, "deployment_overlay_missing", "overlay not found")
	ErrBaselineMissing   = fault.New(fault.NotFound, "deployment_baseline_missing", "the overlay has no baseline")
	ErrBaseline          = fault.New(fault.State, "deployment_baseline_unsupported", "the overlay's baseline cannot be used to merge")
	ErrRebaseConflict    = fault.New(fault.Conflict, "deployment_rebase_conflict", "the overlay and its upstream changed the same lines")
	ErrPatch             = fault.New(fault.Conflict, "deployment_patch_failed", "a patch of an overlay does not apply")
	ErrGitRepo           = fault.New(fault.State, "deployment_git_repo_required", "the config repository is not a git repository")
	ErrGitDirty          = fault.New(fault.State, "deployment_git_dirty", "the config repository has uncommitted changes")
	ErrGitDetached       = fault.New(fault.State, "deployment_git_detached", "the config repository is on no branch")
	ErrGitRemote         = fault.New(fault.NotFound, "deployment_git_remote_missing", "the config repository has no such remote")
	ErrGitMissing        = fault.New(fault.Unavailable, "deployment_git_missing", "git cannot be run; install git 2.39 or newer")
	ErrPolicyViolations  = fault.New(fault.State, "deployment_policy_violations", "the config repository violates its policy")
	ErrPolicyMissing     = fault.New(fault.NotFound, "deployment_policy_missing", "agentpack.org.yaml not found")
	ErrPolicyConfig      = fault.New(fault.Invalid, "deployment_policy_invalid", "agentpack.org.yaml is not valid")
	ErrPolicyVersion     = fault.New(fault.Invalid, "deployment_policy_version", "the version of agentpack.org.yaml is not supported")
	ErrPermission        = fault.New(fault.Unavailable, "deployment_permission_denied", "permission denied for a file")
	ErrPath              = fault.New(fault.Invalid, "deployment_path_invalid", "invalid path")
	ErrPathLong          = fault.New(fault.Invalid, "deployment_path_long", "a path is too long")
	ErrSum               = fault.New(fault.Invalid, "deployment_sum_invalid", "invalid SHA-256 checksum; use 64 hex digits")
	ErrSnapshot          = fault.New(fault.NotFound, "deployment_snapshot_missing", "snapshot not found")
	ErrSnapshotDamaged   = fault.New(fault.State, "deployment_snapshot_damaged", "the snapshot cannot be used")
	ErrStale             = fault.New(fault.Conflict, "deployment_plan_stale", "files changed since the plan was computed; nothing was written, plan again")
	ErrInterrupted       = fault.New(fault.State, "deployment_apply_interrupted", "an earlier deployment was interrupted; finish it with resume, or undo it with undo")
	ErrGit               = fault.New(fault.Unavailable, "deployment_git_failed", "git failed")
	ErrOffline           = fault.New(fault.Unavailable, "deployment_offline", "a git source is not in the cache, and --offline forbids fetching it")
	ErrContent           = fault.New(fault.State, "deployment_content_changed", "a cached source does not match the lockfile")
	ErrProject           = fault.New(fault.State, "deployment_project_unmarked", "not a project: deploying here would write to the home directory")
	ErrConflictsUnsolved = fault.New(fault.State, "deployment_conflicts_unresolved", "an overlay still has conflicts")
	ErrDisk              = fault.New(fault.Unavailable, "deployment_write_failed", "a file could not be written")
)

// Details is the machine-readable part of an error: a stable reason, next actions (identifiers, not commands), and fields of its own (agentpack
// contract §6.1). Its JSON form is one object with reason_code and next_actions among the fields.
type Details map[string]any

// ReasonDetails returns the details of an error with a reason and next actions.
func ReasonDetails(code string, actions ...string) Details {
	return Details{"reason_code": code, "next_actions": actions}
}

// FieldDetails returns the details of an error whose reason and next actions are those of its code.
func FieldDetails(name string, value any) Details { return Details{name: value} }

// Add adds a field and returns the details.
func (d Details) Add(name string, value any) Details {
	d[name] = value
	return d
}

// AddPath adds a native path, and the same path with slashes for automation.
func (d Details) AddPath(name, path string) Details {
	d[name], d[name+"_posix"] = path, PosixPath(path)
	return d
}
