// Package confgit is git for deployments: it fetches module sources into a cache, resolves refs, merges texts, and serves the config
// repository's own history, proposals and remote. Git is started as package gitcli starts it.
//
// Client is deployport.Merger, deployport.History, deployport.Ancestry, deployport.Remote, and the git half of deployport.Sources. No git
// is started for a source that is in the cache. Methods fail with deployment.ErrGitMissing when git cannot be started, and with
// deployment.ErrGit, in git's own words, when git fails in a way that no other error names.
//
//   - confgit.go: Options, Client, New
//   - cache.go, fetch.go, resolve.go, url.go: checkouts of module sources under locks between processes, refs to commits, and URLs checked
//     before git sees them (agentpack contract §10.2)
//   - legacycheckout.go: checkouts where earlier versions and the original tool cached them are found and moved to where they belong now, from the
//     repository's own files and without starting git
//   - history.go, merge.go: status, files at a commit, three-way merges
//   - propose.go: a proposal is a commit made from objects and a private index, so that working tree, index and HEAD stay as they are
//   - remote.go, route.go: init, the remote, sync; Route names everything that steers a transfer besides commits
//
// Its API may change at any time.
package confgit
