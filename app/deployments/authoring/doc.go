// Package authoring implements the tools that create and change a config repository: its manifest, lockfile and remote, imports of what agents already have,
// overlays, and opt-in policy (governance).
//
//   - ConfigRepoEntries (authoring.go): agents_init, agents_add, agents_remove, agents_lock, agents_fetch, agents_update, agents_remote_set, agents_sync
//   - from.go and check.go: agents_skills, agents_add_from, agents_check, and what an update changes
//   - importEntries (import.go, import_scan.go, import_check.go): agents_import, agents_import_apply
//   - OverlayEntries (overlays.go, overlay_edit.go, overlay_rebase.go): agents_overlay_edit, agents_overlay_path, agents_overlay_rebase
//   - PolicyEntries (policy_lock.go, policy_lint.go, policy_audit.go): agents_policy_lint, agents_policy_lock, agents_policy_audit
//   - the text of a new config repository, its manifest and first modules (agentpack contract §5.1): starter.go
//   - lines added to the text of a .gitignore, where patterns are compared as text: gitignore.go
//
// # Rules for all tools
//
// Tools that change something work the change out first and write it atomically; a file that was changed in between stops them
// (deployment.ErrStale). dry_run shows the data that would come out and writes nothing, outside the cache of git sources. Without yes they fail
// before anything is looked at (ErrYes); agents_update does so once it knows that it has something to do. In data, every native path has a companion
// with slashes, <name>_posix.
//
// # Config repository
//
// agents_init (agentpack contract §5.1) creates what is missing of: agentpack.yaml, modules/instructions/base/AGENTS.md, modules/prompts/draftpr.md,
// modules/claude-commands/ap-plan.md. No existing file is touched. git also makes the directory a repository and puts the lines
// .agentpack.manifest*.json and .DS_Store into .gitignore unless they are there. With targets it is the guided form: the manifest is for those
// targets and that scope, a target that knows no user scope gets project with a warning, and a manifest that exists is ErrConfig. bootstrap adds the
// operator assets for the repository as project. Data: {repo, git?: {initialized, gitignore_updated, gitignore_path}, bootstrap?, guided?, targets?,
// scope?}.
//
// With from, agents_init clones an existing config repository instead, whole or not at all, at the commit that was shown (ErrStale otherwise); it needs an
// agentpack.yaml (ErrConfigMissing), and nothing may be there yet (ErrConfig). Data: {repo, from, ref, commit}.
//
// agents_add and agents_remove (§5.2) change the list of modules and leave every other byte of agentpack.yaml as it is. A source is local:<path> or
// git:<url>[#ref=…&subdir=…&shallow=…] (§2.3); the id is <type>:<name of the source> unless given. A source that could not be deployed is a warning.
// ErrConfig: an id that exists, or does not; a source that is none. Data: {module_id, manifest}.
//
// agents_skills lists the directories of a git repository with a SKILL.md, and agents_add_from adds some of them (or one module of another type) to
// agentpack.yaml and, alone, to the lockfile. The files are looked through (domain/deployment/inspection); a severe finding raises the approval to typing the
// module's id where people approve. Data: {manifest, lockfile, url, ref, commit, modules: [{module_id, module_type, description?, subdir, tags, sha256,
// file_manifest}], findings?: [{severity, rule, module_id, path, line?, text}]}.
//
// agents_check asks every remote what the refs are now, and compares the repository's own files with the lockfile. Data: {modules: [{module_id, status: up_to_date
// | update_available | ref_changed | pinned | edited | not_locked | unknown, url?, ref?, locked_ref?, locked?, latest?, error?}], summary: {modules, outdated,
// unknown}}.
//
// agents_lock (§2.4, §5.3) resolves every enabled module to a commit and sums, and writes agentpack.lock.json; generated_at changes only when
// something else does, so locking twice writes nothing. A lockfile that cannot be read is replaced. A commit whose files are not what they were when
// it was locked before is ErrContent: the cache was changed. Data: {lockfile, modules}.
//
// agents_fetch puts every git module of the lockfile into the cache and checks it. A checkout whose files are not what was locked is replaced, with a
// warning; ErrContent where that is no help, or offline. ErrLockMissing without a lockfile. Data: {store, git_modules_fetched}.
//
// agents_update locks when there is no lockfile, or lock or latest asks for it, unless no_lock; then it fetches, unless no_fetch. modules locks those alone
// again. What changes of modules from git is in changes, its lines are shown beside the plan, and findings are those of files that come in or change. Flags that
// contradict each other are tool.ErrArguments. Data: {lockfile, store, steps: [{name, ok, detail}], git_modules_fetched}.
//
// agents_remote_set (§5.15) makes the directory a git repository if it is none and sets a remote's URL. Data: {repo, remote, url}.
//
// agents_sync pulls and pushes the current branch. It checks, in this order: that there is a repository (ErrGitRepo), nothing uncommitted
// (ErrGitDirty), a branch (ErrGitDetached), the remote (ErrGitRemote). Details: {command, repo, hint, remote?}. Data: {repo, remote, branch, rebase,
// commands, fetch_url, push_urls, git_dir?, head, ahead, commits, hooks, filters, settings}. All of that is what is approved, and is compared again
// before anything is done; where hooks or filters run, the risk is high. Conflicts are left to the user.
//
// # Import
//
// agents_import and agents_import_apply (§5.13) turn what coding agents already have in a home directory and in the project into modules. They look
// at <home>/.codex/prompts/*.md, <home>/.codex/skills/*/, <home>/.claude/commands/*.md, <project>/AGENTS.md, <project>/.claude/commands/*.md and
// <project>/.codex/skills/*/: immediate entries, links followed (a linked directory with a warning). $CODEX_HOME stands for <home>/.codex unless
// home_root names a home. A project that is the home directory itself is not looked at twice, and neither is what a deployment wrote.
//
// Identifiers are prompt:<c>, skill:<c>, command:<c>; of a project skill:project-<pid>-<c>, command:project-<pid>-<c> and instructions:project-<pid>.
// Each source is read and held to the rules of its type. Its op is create, skip_existing_module (module_id_already_exists) or skip_invalid
// (source_missing, invalid_module_source, duplicate_module_id_in_scan; of several sources with one identifier the first that is valid is taken).
//
// agents_import shows that; agents_import_apply writes the files, appends the modules to agentpack.yaml without touching anything else in it, and
// makes sure of the profile project-<pid> where something of a project came in. A destination that is occupied is ErrImportConflict, and nothing is
// written.
//
// Data: {applied, reason?: dry_run | no_changes, repo, home_root, project: {project_id, project_root, origin_url}, plan: [{op, module_id,
// module_type, scope, targets?, tags?, source_path, dest_path, dest_exists?, skip_reason?}], plan_omitted?, summary: {candidates, create,
// skipped_existing_module, skipped_invalid, left_out?}, left_out?: [{source_path, reason: kind_not_imported | not_of_the_expected_form |
// written_by_a_deployment}], conflicts: [{kind, count, module_id?, sample_paths, hint}], next_actions: two commands}.
//
// # Overlays
//
// An overlay is a directory in the config repository whose files (kind dir) or patches (kind patch) change a module in one scope. None of these tools
// touches a file outside that directory, and each change happens atomically.
//
// agents_overlay_edit (§3.7) makes an overlay, or what an existing one lacks: by default a copy of the whole module where there is no directory yet;
// with sparse its metadata alone; with materialize also every file of the module that it lacks; with the kind patch its metadata and a directory for
// patches. Files that exist are never overwritten. The client opens the directory for the user. Failures: ErrConfig (no such module; patch with
// materialize, or over override files), tool.ErrArguments (sparse with materialize). Data: {module_id, scope, overlay_kind, overlay_dir, created,
// sparse, materialized, patches_dir|null, project, machine_id|null, project_id|null}; the two identifiers are those of the overlay's scope.
//
// agents_overlay_rebase (§3.8) brings an overlay up to date with a module that changed. It fails with, in this order: ErrYes (unless it is a dry
// run), ErrOverlayMissing, ErrBaselineMissing, ErrConfig, ErrBaseline. Files that conflict are written below .agentpack/conflicts, everything that
// merged is written beside them, and then the answer is ErrRebaseConflict, whose details say the same as data would; the overlay is not deployed
// until the conflicts are resolved. A dry run writes nothing and answers alike. Data: {module_id, scope, overlay_dir, dry_run, sparsify, report:
// {updated, deleted, skipped, conflicts, summary}}.
//
// agents_overlay_path (§3.9) is where an overlay is, or would be made, whether the module exists or not. Data: {module_id, scope, overlay_dir}.
//
// # Policy
//
// The policy tools (§5.17) alone read agentpack.org.yaml; nothing else behaves differently because of it.
//
// agents_policy_lint reads the config repository and nothing outside it: skills and Claude Code commands wherever they are, and, where there is an
// agentpack.org.yaml, the policy pack, what has to be distributed, and where modules may come from. Without a violation its data is the report {root,
// issues, summary: {violations, files_scanned, skill_files, claude_command_files, rules}}; otherwise it fails with ErrPolicyViolations and the report
// in the details. An issue is {rule, path, message, details?}, its path relative to the repository.
//
// agents_policy_lock resolves the policy pack, and writes agentpack.org.lock.json, which holds no time: locking twice writes once. Failures: ErrYes,
// ErrPolicyMissing, ErrPolicyConfig (no source, one that is none, a remote that is not allowed), ErrPolicyVersion. Data: {lockfile_path,
// resolved_version, sha256, files}.
//
// agents_policy_audit says what the lockfile pins, what the policy pack is, and what changed in the lockfile since the commit before the current one.
// Failures: those of reading manifest and lockfile, ErrLockMissing. Data: {root, lockfile: {lockfile_path, version, generated_at, modules}, modules:
// [{id, type, resolved_source, resolved_version, sha256, files, bytes}], org_policy_pack?, change_summary?: {base_ref, base_commit, modules_added,
// modules_removed, modules_changed}}.
//
// Its API may change at any time.
package authoring
