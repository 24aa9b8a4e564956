package agentcmd

// schema is the data of schema --json: field names with what they hold.
type schema struct {
	Commands map[string]map[string]string `json:"commands"`
	Envelope map[string]string            `json:"envelope"`
	Paths    map[string]string            `json:"path_conventions"`
}

// schemas is the schema of the envelope and of the data of the commands that programs read most.
func schemas() schema {
	return schema{Envelope: envelope(), Commands: commands(), Paths: map[string]string{
		"native": "a path as this operating system writes it",
		"posix":  "<name>_posix beside a path: the same with slashes; programs should read this one",
	}}
}

func envelope() map[string]string {
	return map[string]string{
		"schema_version": "number: 1; fields may be added without a new version",
		"ok":             "boolean: whether the command did what it was asked to",
		"command":        "string: dotted id of the command; its first word alone on failure",
		"command_id":     "string: the command as typed, with --apply or --fix where that changes what it does",
		"command_path":   "array of string: command_id in words",
		"version":        "string: of the program",
		"data":           "object: see commands; empty on failure",
		"warnings":       "array of string: for people, their wording may change",
		"errors":         "array of {code, message, details?}: one on failure; details hold reason_code and next_actions",
	}
}

func commands() map[string]map[string]string {
	const (
		changes = "array of {target, op: create|update|delete, path, path_posix, before_sha256|null, after_sha256|null, update_kind?, delete_kind?, mode?, reason}"
		summary = "object {create, update, delete}"
		profile = "string: the profile that was used"
		targets = "array of string: the targets that were looked at"
	)
	planned := map[string]string{"changes": changes, "profile": profile, "summary": summary, "targets": targets}
	return map[string]map[string]string{
		"plan": planned,
		"diff": planned,
		"deploy": {"applied": "boolean", "changes": changes, "profile": profile, "summary": summary, "targets": targets,
			"reason": "string: no_changes where there were none", "snapshot_id": "string: what to roll back to, once it was applied"},
		"preview": {"plan": "object {changes, summary}", "profile": profile, "targets": targets,
			"diff": "object {changes, summary, files: [{target, root, root_posix, path, path_posix, op, before_hash|null, after_hash|null, unified?}]}, with --diff"},
		"status": {"drift": "array of {kind: missing|modified|extra, target, root?, root_posix?, path, path_posix, expected|null, actual|null}",
			"profile": profile, "targets": targets, "summary": "object {modified, missing, extra}, as filtered by --only",
			"summary_by_root": "array of {target, root, root_posix, summary}", "summary_total": "object {modified, missing, extra}, with --only",
			"next_actions": "array of string: commands", "next_actions_detailed": "array of {action, command}"},
		"import": {"applied": "boolean", "reason": "string: dry_run or no_changes", "repo": "string", "repo_posix": "string", "home_root": "string", "home_root_posix": "string",
			"project":   "object {project_id, project_root, project_root_posix, origin_url|null}",
			"plan":      "array of {op, module_id, module_type, scope, targets?, tags?, source_path, source_path_posix, dest_path, dest_path_posix, dest_exists?, skip_reason?, key?, also_at?, disabled?, aside_reason?, as_is?, references?}",
			"left_out":  "array of {source_path, source_path_posix, key?, reason}",
			"options":   "array of {target, new?, options?}: what the targets get",
			"conflicts": "array of {kind, count, sample_paths, sample_paths_posix, hint, module_id?}",
			"summary":   "object {candidates, create, skipped_existing_module, skipped_invalid, left_out?, disabled?, references?}", "next_actions": "array of string: commands"},
		"rollback": {"rolled_back_to": "string", "event_snapshot_id": "string: the snapshot that the rollback made", "changes": changes, "summary": summary},
		"help": {"commands": "array of {id, path, mutating, supports_json, args}", "global_args": "array of {id, kind, long, required}",
			"mutating_commands": "array of string: ids that need --yes with --json", "targets": "array of string", "notes": "array of string"},
	}
}
