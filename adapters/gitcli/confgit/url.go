package confgit

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/adapters/gitcli"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/git"
)

// helperForm is git's syntax for a program that speaks for a remote: ext::sh -c … and its like.
var helperForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.+-]*::`) })

// authorityForm is a user with or without password, a host that is no option, and a numeric port.
var authorityForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^@/]*@)*(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]*)(:[0-9]*)?$`)
})

// scpForm is user@host:path, where neither host nor path is an option.
var scpForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^@/:]+@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]*):[^-]`)
})

// checkURL rejects what git would take for an option, a program or a path that depends on where it runs, before git sees it
// (agentpack contract §10.2). Its message repeats the URL only where it is known to hold no secret.
func checkURL(url string, relative bool) error {
	problem := ""
	scheme, rest, schemed := strings.Cut(url, "://")
	switch {
	case url == "":
		problem = "is empty"
	case len(url) > git.MaxURLBytes:
		problem = "is too long"
	case !utf8.ValidString(url) || strings.ContainsFunc(url, unicode.IsControl) || url != strings.TrimSpace(url):
		problem = "has control characters or surrounding spaces, or is not UTF-8"
	case url[0] == '-':
		problem = "begins with a dash"
	case helperForm().MatchString(url):
		problem = "names a program to run"
	case schemed && !strings.ContainsAny(scheme, "/:@"):
		problem = schemeProblem(scheme, rest)
	case filepath.IsAbs(url), relative && (strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../")):
	case scpForm().MatchString(url):
	default:
		problem = "is a relative path, or has no valid host"
	}
	if problem == "" {
		return nil
	}
	return deployment.ErrConfig.WithMessage("the git URL %s; write https://host/owner/repo, git@host:owner/repo or an absolute path", problem).
		WithDetails(deployment.FieldDetails("error", "git URL "+problem))
}

func schemeProblem(scheme, rest string) string {
	authority, _, _ := strings.Cut(rest, "/")
	switch {
	case rest == "":
		return "has no repository path"
	case !slices.Contains(append(strings.Split(gitcli.Network, ":"), "git+ssh", "ssh+git"), scheme):
		return "has a scheme that is not one of https, http, ssh, git and file"
	case scheme != "file" && (rest[0] == '-' || !authorityForm().MatchString(authority)):
		return "has no host, or an invalid user, host or port"
	}
	return ""
}

// shown returns the redacted URL for display and files.
func shown(url string) string { return gitcli.Mask(url) }
