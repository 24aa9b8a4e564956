// Package runner is the base of all project tools: it finds the project of a path, examines commands before they run, and starts programs. Scripts,
// actions and the steps of workflows use it alike.
//
//   - SiteFinder (sites.go) finds the registered project of a path argument, and the resolved path in it; every tool calls it before it reads
//     anything. A Site is a directory in a registered project; any other path is project.ErrPath
//   - Runner.Examine (examine.go) finds everything that commands start, package.json scripts included; ExamineResult.Same and Changed compare it with
//     what was approved
//   - Runner (runner.go) gives a program its environment, reports the objections to its command (Findings), waits for it, limits and redacts its
//     output, and converts its end to a ProcessResult. Timeouts are those of packageflow contract §2.4; arguments too long to be shown to the user are
//     errors (CheckArgs)
//   - ReadSpec, ExecuteSpec and StoreSpec (plan.go) make tool specs under the categories of packageflow contract §2.7; Plan contains what the user needs
//     to decide, and its hash covers everything it shows. EitherCasing (argument_casing.go) makes a tool accept its arguments in either casing
//   - Process (process.go) is a background process in lists (packageflow contract §1.11)
//
// Its API may change at any time.
package runner
