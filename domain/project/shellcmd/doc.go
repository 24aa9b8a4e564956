// Package shellcmd implements the rules for commands that projects run: the analysis of shell scripts, checks of commands before they are stored,
// shown or run, argument vectors for package.json scripts, and step templates. It runs nothing, and shell text is parsed elsewhere.
//
//   - ShellScript (script.go) is parsed shell text: its commands with their arguments. Trace (trace.go, run.go) evaluates its words and lists the
//     programs that it starts
//   - CheckScript (lint.go, check.go, rules_block.go, rules_high.go, rules_paths.go) judges a script: OK, High (the user must look at it every time) or
//     Block (never run), with a Finding for each reason (packageflow-security contract §4.6). It covers workflow steps, step templates and the scripts of
//     package.json. It is advice, not a sandbox: its command line does not show what a program does once it runs
//   - ScriptCalls (calls.go) returns the package.json scripts that a command starts, which are checked too; CodeFiles (codefiles.go) returns the files
//     that programs read as code
//   - BuildScriptCommand (script_command.go) decides how a package.json script is started: with which package manager and argument vector;
//     LooksLongRunning (devlike.go) reports a script that does not end by itself. Installed programs are passed as a Toolchain (packageflow contract
//     §2.6, row 20)
//   - Template (template.go, category.go) is a command that a workflow's step may start from; BuiltinTemplates (builtin.go) lists those that come with
//     Countersign, custom ones are the user's (packageflow contract §1.5)
//
// Its API may change at any time.
package shellcmd
