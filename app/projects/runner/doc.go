// Package runner is what every project tool is built on: finding the project that a path is about, examining commands before they run, and starting
// programs. Scripts, actions and the steps of workflows go through it alike.
//
//   - SiteFinder (sites.go) finds the registered project that a path argument is about, and where in it the path really leads; every tool goes through it
//     before it looks at anything. A Site is a directory in a registered project; any other path is project.ErrPath
//   - Runner.Examine (examine.go) finds everything that commands start, package.json scripts included; ExamineResult.Same and Changed compare it with
//     what was approved
//   - Runner (runner.go) gives a program its environment, reports what speaks against its command (Findings), waits for it, bounds and redacts its
//     output, and maps its end to a ProcessResult. Timeouts are those of packageflow contract §2.4; arguments too long to be shown to the user are
//     refused (CheckArgs)
//   - ReadSpec, ExecuteSpec and StoreSpec (plan.go) make tool specs under the categories of packageflow contract §2.7; Plan holds what the user needs to decide,
//     and its hash is over everything it shows. EitherCasing (argument_casing.go) has a tool take its arguments in either casing
//   - Process (process.go) is a background process as lists show it (packageflow contract §1.11)
//
// Its API may change at any time.
package runner
