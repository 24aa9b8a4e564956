// Package deployments is the toolset that deploys one config repository into many coding agents: plan, diff, preview, status, doctor, deploy,
// deploy_apply, rollback, evolve_propose, evolve_restore and explain. Their schemas are fixed by seed 000, their answers by the agentpack contract.
// It also makes the tools that look after what deployments leave behind (MaintenanceEntries) and the one that writes operator assets (BootstrapEntries).
//
// Capability makes the toolset "deployments", AuthoringCapability the toolset "authoring" out of entries of this package and of package authoring;
// the latter is for users on the command line, and a server enables it only where it is asked to.
//
// # The contract in short
//
// A config repository holds agentpack.yaml: profiles that select modules, modules (instructions, skill, prompt, command; also mcp and settings, which
// own single keys) with a source (a path in the repository, or git through the lockfile), and targets (coding agents) with a scope (user, project,
// both) and options. Overlays change a module per scope: upstream < global < machine < project.
//
// plan, diff and preview compare the desired state with the machine: create, update, delete, each with sums before and after. An update is
// managed_update when the file is as it was deployed, adopt_update when no deployment wrote it, drifted_update when it was edited since; the last two
// (and drifted_delete) need adopt. deploy is plan plus a token: confirm_token, confirm_plan_hash, confirm_token_expires_at (10 minutes, TokenTTL).
// deploy_apply needs yes first of all, then the token; it plans again, fails when the plan's hash is not the token's, and applies exactly that plan,
// atomically, with every file checked again under a lock. status reports drift; doctor checks the setup without writing; rollback goes back
// to a snapshot or to "initial", the state before the first deployment, and keeps edits made since in a new snapshot; explain says which module and
// layer a file comes from; evolve_propose turns edits of deployed files into overlay edits on a git branch; evolve_restore recreates missing files.
//
// Everything that differs has a state beside its kind or op (deployment.FileState): what was deployed last, what is on disk and what the config repository
// says now, compared. It is the member state of drift, changes, candidates and skipped files; status counts all files by it (summary_by_state, and states
// of every root).
//
// Every file is owned by an entry in the home's records (<home>/state/owned); only owned files are ever deleted, and by their own config repository.
// Every answer is {data, warnings}; failures are errors of package domain/deployment with reason_code and next_actions in their details. Tools that
// plan warn of an operation that was interrupted; nothing can be applied before it is recovered.
//
// # Evolve
//
// Evolver (evolve_find.go, evolve_propose.go, evolve_restore.go) carries edits of deployed files back to where they belong: as overlay changes on a new branch of the
// config repository, for the user to review; and it recreates deployed files that are missing (agentpack contract §5.10, §5.11). It touches neither
// the repository's worktree nor any file that exists. What is proposed is the edits made here alone: a three-way merge (planner.MergeEdits and MergeKeys) of
// what was deployed, what is on disk and what the config repository says. Conflicts and edits of what is gone upstream are told (skipped), never proposed.
//
// # Maintenance
//
// The tools of MaintenanceEntries (maintenance.go) that change something need yes first of all (deployment.ErrYes); dry_run shows the data that would
// come out and writes nothing.
//
//   - agents_deploy_unedited (unedited.go) deploys what is nobody's own work, and lists what it leaves alone: {…what deploy_apply answers, left}
//   - agents_manifests_write (manifests.go) writes ownership manifests beside the files, which earlier versions and the original read
//   - agents_doctor_fix (agentpack contract §5.7; doctor_fix.go) puts the line .agentpack.manifest*.json once into the .gitignore of every git worktree that
//     is deployed into and does not ignore manifests. Data: doctor's, with gitignore_fixes: [{repo_root, gitignore_path, updated}].
//   - agents_snapshots_list (snapshots.go) lists what was applied, newest last: {snapshots: [{id, kind, status, created_at, targets, profile,
//     managed, changes, rolled_back_to?}], snapshots_omitted?}.
//   - agents_snapshots_show is one of them with its files: {…, project_root, roots, managed_files, file_changes, files_omitted?, lockfile_sha256}.
//   - agents_snapshots_prune removes all but the newest keep, and those in ids; never the newest one that is applied, nor one under way. The
//     originals from before the first deployment stay. Data: {pruned: [ids], freed_bytes, kept}.
//   - agents_record (§5.16; event_record.go) appends an event to the event log, with what the event says about itself lifted out. Data: {path, recorded_at,
//     machine_id}.
//   - agents_score (score.go) counts the event log by module: {modules: [{module_id, total, failures, failure_rate, last_seen_at}], read_stats}.
//     Lines that cannot be used are warnings.
//   - agents_pending (recover.go) says whether an operation was interrupted: {interrupted: null | {…}, next_actions}. agents_recover finishes it
//     (resume) or takes it back (undo): {id, kind, action, left: [paths]}; a file that is neither as before nor as after is left alone and listed.
//
// # Bootstrap
//
// agents_bootstrap (bootstrap.go) writes the operator assets: files that teach coding agents to operate deployments, namely the operator skill
// for Codex and, where its skills are deployed, for Claude Code, and nine commands for Claude Code (agentpack contract §5.12). AssetFiles and CheckAssets in
// assets.go say which files should be where, and which are missing or of another version (§5.6); their text is in asset_templates.go. Starting works out
// the same for a config repository that is just being made.
//
// A bootstrap is an ordinary plan with an owner of its own (§5.12, §10.1): no deployment deletes or changes its files, it touches nothing that a
// deployment owns, a second one changes nothing, and a file that it did not write, or that was edited since, is overwritten only with adopt
// (ErrAdopt). Files that it wrote and that an option now excludes are deleted. It can be rolled back like a deployment. With remove, everything that
// it wrote is deleted, what was there before is put back and counts as the user's from then on; what was edited since is overwritten only with adopt.
// Scope is user, project or both, whatever the targets' own scope is; a project has to be one (ErrProject). It needs yes only where it has something
// to do (ErrYes). Other failures: ErrConfigMissing, ErrConfig, ErrTarget. Data: {applied, reason?: dry_run|no_changes, snapshot_id?, targets, scope,
// changes, summary}.
package deployments
