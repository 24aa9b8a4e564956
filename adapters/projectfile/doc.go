// Package projectfile looks at the directories of this machine on behalf of projects: where a path really leads, what kind of project lies
// there, what a process started there would find, which files commands would read as code, and what shell text runs.
//
// Nothing is written, started or remembered: every answer is about this moment, because an approval request that shows what was true a
// second ago is worse than none.
//
//   - projectfile.go, register.go, facts.go: Directories, a projectport.Directories: paths resolved, directories that may be registered
//     (packageflow-security contract §4), and what lies in one; nothing outside an opened directory can be reached through it
//   - environment.go, tools.go, settings.go, secrets.go: what a process in the project would find: package managers and toolchains, found
//     only where the project does not decide what they are, settings of package managers, and values of .env files that are to be redacted
//   - codefile.go: Reader, a ports.CodeReader: the files of a project that commands would read as code, and what is in them. The rules
//     about programs stand in the domain; this looks at what is there. Nothing outside of the project is read
//   - shellparse.go, walk.go, shellword.go: Parser, a projectport.ShellParser, takes shell text apart with the grammar of mvdan.cc/sh. It judges
//     nothing
//
// Its API may change at any time.
package projectfile
