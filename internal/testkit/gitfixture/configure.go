package gitfixture

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
)

// programs are the keys that git, or a program that it starts, takes a program from. An exclamation mark stands before those that a shell reads.
var programs = []string{"core.fsmonitor", "core.sshCommand", "core.editor", "sequence.editor", "core.pager", "pager.status", "pager.diff", "pager.log", "core.askPass",
	"core.gitProxy", "core.alternateRefsCommand", "!credential.helper", "!credential.https://example.com.helper", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
	"diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program",
	"gpg.ssh.defaultKeyCommand", "uploadpack.packObjectsHook", "remote.origin.uploadpack", "remote.origin.receivepack", "trailer.sign.command", "trailer.sign.cmd",
	"interactive.diffFilter", "sendemail.smtpServer", "sendemail.sendmailCmd", "browser.evil.cmd", "web.browser", "man.evil.cmd", "instaweb.httpd", "difftool.evil.cmd", "mergetool.evil.cmd",
	"guitool.evil.cmd", "gc.recentObjectsHook", "!submodule.lib.update", "tar.tar.gz.command", "hook.evil.command", "lfs.customtransfer.evil.path", "lfs.extension.evil.clean", "lfs.extension.evil.smudge",
	"!alias.status", "!alias.diff", "!alias.push"}

// wishes are settings that want those programs.
var wishes = [][2]string{{"filter.evil.required", "true"}, {"commit.gpgSign", "true"}, {"tag.gpgSign", "true"}, {"log.showSignature", "true"}, {"merge.verifySignatures", "true"},
	{"diff.tool", "evil"}, {"merge.tool", "evil"}, {"hook.evil.event", "post-index-change"}, {"push.recurseSubmodules", "on-demand"}, {"fetch.recurseSubmodules", "true"},
	{"diff.ignoreSubmodules", "none"}, {"submodule.lib.ignore", "none"}, {"status.submoduleSummary", "true"}, {"diff.submodule", "diff"}, {"lfs.standalonetransferagent", "evil"},
	{"protocol.ext.allow", "always"}, {"trailer.sign.key", "Signed"}, {"commit.verbose", "true"}}

// hooks that git knows.
var hooks = []string{"post-index-change", "reference-transaction", "post-checkout", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge",
	"pre-auto-gc", "post-rewrite", "pre-rebase", "pre-push", "fsmonitor-watchman"}

// Configure makes the configuration in a repository's administration (its .git) name a program in every place that accepts one. own leaves the hooks
// in git's default directory; otherwise they are in another one, which is configured.
func (r Traps) Configure(admin string, own bool) {
	r.t.Helper()
	var text strings.Builder
	set := func(key, value string) {
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		text.WriteString("[" + key[:first])
		if first < last {
			text.WriteString(` "` + key[first+1:last] + `"`)
		}
		text.WriteString("]\n\t" + key[last+1:] + ` = "` + value + "\"\n")
	}
	for _, key := range programs {
		key, shell := strings.CutPrefix(key, "!")
		program := r.Program(strings.ReplaceAll(key, "/", "_"))
		if shell {
			program = "!" + program
		}
		set(key, program)
	}
	set("remote.ext.url", "ext::"+r.Program("remote.ext")+" %S")
	for _, wish := range wishes {
		set(wish[0], wish[1])
	}
	place := filepath.Join(admin, "hooks")
	if !own {
		place = filepath.Join(r.t.TempDir(), "hooks")
		set("core.hooksPath", place)
	}
	require.NoError(r.t, os.MkdirAll(place, 0o755))
	for _, name := range hooks {
		require.NoError(r.t, os.Rename(r.Program(name), filepath.Join(place, name)))
	}
	file := filepath.Join(admin, "config")
	said, err := os.ReadFile(file)
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(file, append(said, text.String()...), 0o644))
}
