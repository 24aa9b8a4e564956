// Package shellcmd is the rules for commands that projects run: shell scripts taken apart, commands judged before they are stored, shown or run,
// package.json scripts turned into argument vectors, and step templates. It runs nothing, and shell text is parsed elsewhere.
//
//   - ShellScript (script.go) is parsed shell text: its commands with their arguments. Trace (trace.go, run.go) evaluates its words and lists the
//     programs that it starts
//   - CheckScript (lint.go, check.go, rules_block.go, rules_high.go, rules_paths.go) judges a script: OK, High (the user has to look at it every time) or Block (never run),
//     with a Finding for each reason (packageflow-security contract §4.6). It covers workflow steps, step templates and the scripts of package.json.
//     It is advice and friction, not a sandbox: what a program does once it runs is beyond any reading of its command line
//   - ScriptCalls (calls.go) are the package.json scripts that a command starts, which are checked alike; CodeFiles (codefiles.go) are the files that programs
//     read as code
//   - BuildScriptCommand (script_command.go) decides how a package.json script is started: through which package manager, with which argument vector; LooksLongRunning
//     (devlike.go) reports a script that does not end by itself. What is installed arrives as a Toolchain (packageflow contract §2.6, row 20)
//   - Template (template.go, category.go) is a command that a workflow's step may begin as; BuiltinTemplates (builtin.go) lists those that come with
//     Countersign, custom ones are the user's (packageflow contract §1.5)
//
// Its API may change at any time.
package shellcmd
