// Package planner turns a config repository into a deployment plan, and is what every deployment tool is built on. It changes nothing.
//
//   - Compiler (compiler.go) resolves the place, loads manifest and lockfile, composes and validates every module once, and renders the chosen
//     targets (agentpack contract §0, pipeline). Its State is the desired state; it does not look at the machine
//   - Planner (planner.go) looks at the machine and compares: Deploy makes the plan forwards, Back the one for a rollback, Survey looks without
//     planning. Roots that a deployment of this repository wrote to and that no target names any more are looked at too. In files that are otherwise
//     the user's, only the managed part is merged (parts.go)
//   - Drift (drift.go) is what is deployed and differs, file by file and root by root (§5.6); Find looks for it, next_actions.go names the commands to run
//     next
//   - Handed (handover.go) is the files of a plan with which agents run programs or gain permissions; AdoptRefusal (adopt.go) is ErrAdopt for changes
//     that would overwrite or delete work that no deployment wrote; Edit (edit.go) is a plan to write files of the config repository itself
//
// # How tools are made
//
// Read makes a tool.Entry of a Query, Change one of a Command (entries.go); this is the one place that turns such functions into tools. Arguments are
// read strictly, yes is asked for before anything else is looked at where the command needs it (seed 000), a call with dry_run claims no more than a
// query and returns its plan, and the value of every tool is a Report: {data, warnings}. Warnings are unique, and of very many the first are kept.
//
// Call holds the arguments of any of the tools (seed 000, agentpack contract appendix A); InputRead (arguments.go) decodes them: a wrong type or an
// unknown name is refused, null is absent, and defaults are filled in, so that {} and the same spelled out are one call. The table of arguments is in
// schema.go; Schema makes the published schema from it for tools that seed 000 gives none for.
package planner
