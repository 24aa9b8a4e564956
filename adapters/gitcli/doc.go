// Package gitcli starts the git binary, which no other package does, in an environment in which a repository's configuration can run
// nothing, prompt for nothing and reach no network, unless a command says that it needs one of them. It also has the git queries of packs
// and projects.
//
// # How git is started
//
// Command (run.go, commandguard.go) prompts for nothing, never waits without a limit, and is not steered by its caller's environment: no terminal,
// no password programs and no network. It also runs no program that a repository names. A clone's configuration, and the files it includes,
// can name programs in many places, and even git status runs some of them. Each command is guarded against all of them:
//
//   - Settings with one name that no command needs are switched off for every command: hooks, the file-system monitor, maintenance, showing
//     signatures, recursion into submodules.
//   - Settings whose names the repository chooses (filters, merge drivers, credential helpers, git-lfs's extensions, hooks in the
//     configuration) or that may be the user's (ssh, gpg) are looked up and replaced by the user's own value, or by nothing. Git itself is
//     asked what the configuration says, but only where the files say more than git writes by itself: for most repositories one command
//     starts git once.
//   - What no setting can override is prevented by the command's options (external diffs, textconv, programs at the other end) or by the
//     environment (editors, pagers, askpass, proxies, transports that run programs).
//   - Redirections are not followed. A command that reaches a remote is not started where the repository itself sets the route: a proxy,
//     another address, an unchecked certificate (ErrLed).
//   - Submodules are looked into only where what they name has been switched off too.
//   - Commands that are not known here are not started: aliases, difftool and send-email among them (VerbError).
//
// The machine's and the user's own configuration stays in force. Two kinds of a repository's own programs do run, in the commands that ask
// for them because they apply what the user approved: hooks (Hooks), and filters and merge drivers (Filters), without which encrypted files
// would be committed in clear. What would run can be asked beforehand (Named). ssh commands, credential helpers and programs for signatures
// never run when only the repository names them: they belong in the user's own configuration, where includeIf limits them to some
// directories. Git's failures are returned as they are; what they mean is the caller's business.
//
// # Where things are
//
//   - run.go: Command, its limits and errors; commandguard.go: what is switched off for one command; redact.go: Mask, text without the passwords in
//     its URLs; identity.go: who commits; die_linux.go, alone_unix.go and their other halves: git ends with this process, in a session of
//     its own
//   - remoteguard.go: which remotes a call's context lets git reach (Outreach, Reach, ErrRemote)
//   - pin.go, submodules.go, repolock.go, start.go: a clone (Repo) and one of its working trees (Tree), both named outright: whatever a file in
//     them says, git is led to no other repository. Failures have the names of sandboxes (sandbox.ErrBusy, sandbox.ErrGit); Patiently
//     repeats what fails while another git holds a lock, and Alone keeps every other process that asks for it from the clone
//   - client.go, heads.go, files.go, inworktree.go, worktrees.go: what projects want to know of their repositories (Client): branch, status,
//     staged changes, worktrees, remote. The repository's files are read where they say it plainly, git is started otherwise. Nothing is
//     written and no network used
//   - history.go: source files as they were at a commit (History), for packs. Git is started only by the call that needs it
//
// Its API may change at any time.
package gitcli
