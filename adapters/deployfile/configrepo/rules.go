package configrepo

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/relpath"
)

// maxName is how long a name may be that becomes a directory's, in bytes.
const maxName = 200

// idProblem is what is wrong with a module's identifier. A skill's name becomes a directory wherever it is deployed, so it must be one
// (agentpack contract §10.2).
func idProblem(m deployment.Module) string {
	switch {
	case strings.ContainsFunc(m.ID, unicode.IsControl) || !utf8.ValidString(m.ID):
		return "contains a control character"
	case m.Type != deployment.ModuleSkill:
		return ""
	}
	name := m.Name()
	switch {
	case strings.TrimSpace(name) == "":
		return "has no name after its colon; write skill:my-name"
	case name == "." || name == ".." || strings.ContainsAny(name, `/\`):
		return "does not name a directory; write a name without slashes, like skill:my-name"
	case len(name) > maxName:
		return fmt.Sprintf("is too long for a directory; the limit is %d bytes", maxName)
	}
	return ""
}

// localPath is a path below a repository in its shortest form, or what is wrong with it: absolute paths, ".." and .git are refused
// (agentpack contract §10.2).
func localPath(text string) (clean, problem string) {
	if onDrive(strings.TrimSpace(text)) {
		return "", fmt.Sprintf("the path %q is absolute; give one relative to its root", text)
	}
	p, err := relpath.Parse(text)
	if err != nil {
		return "", fault.From(err).Message
	}
	for part := range strings.SplitSeq(p.String(), "/") {
		if strings.EqualFold(part, ".git") {
			return "", fmt.Sprintf("the path %q is inside git's own directory", text)
		}
	}
	return p.Clean().String(), ""
}

// onDrive reports an absolute path of Windows. (It is asked for every module, which is no place to compile an expression.)
func onDrive(path string) bool {
	return len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\') && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z')
}

// URLProblem is what is wrong with the URL of a git source: only transports that fetch and do nothing else are let through, and nothing
// that git could take for an option (agentpack contract §10.2).
func URLProblem(url string) string {
	const allowed = "use an https, http, ssh, git or file URL, user@host:path or an absolute path"
	scheme, rest, isURL := strings.Cut(url, "://")
	switch {
	case url == "":
		return "the url is blank"
	case strings.ContainsFunc(url, unicode.IsControl) || !utf8.ValidString(url):
		return "the url contains a control character"
	case strings.HasPrefix(url, "-"):
		return fmt.Sprintf("the url %q begins with a dash; %s", url, allowed)
	case isURL:
		switch strings.ToLower(scheme) {
		case "https", "http", "ssh", "git":
			if host := authority(rest); host == "" || strings.HasPrefix(host, "-") {
				return fmt.Sprintf("the url %q has no usable host", url)
			}
			return ""
		case "file":
			return ""
		}
		return fmt.Sprintf("the url %q has a transport that is not allowed; %s", url, allowed)
	case strings.HasPrefix(url, "/"), onDrive(url):
		return ""
	case regexp.MustCompile(`^([A-Za-z0-9_.][^/:@\s]*@)?[A-Za-z0-9_.][^/:@\s]*:[^:].*$`).MatchString(url):
		return ""
	}
	return fmt.Sprintf("git cannot fetch the url %q; %s", url, allowed)
}

// authority is the host of what follows a scheme.
func authority(rest string) string {
	host, _, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		if strings.HasPrefix(host, "-") {
			return host
		}
		host = host[i+1:]
	}
	return host
}

// RefProblem is what is wrong with the ref of a git source: git's own rules, and no patterns, so that it can only name one thing.
func RefProblem(ref string) string {
	switch {
	case strings.HasPrefix(ref, "-"), strings.ContainsAny(ref, " ~^:?*[\\"), strings.Contains(ref, ".."), strings.Contains(ref, "@{"),
		strings.HasPrefix(ref, "/"), strings.HasSuffix(ref, "/"), strings.HasSuffix(ref, ".lock"), strings.HasSuffix(ref, "."),
		strings.ContainsFunc(ref, unicode.IsControl), !utf8.ValidString(ref):
		return fmt.Sprintf("the ref %q is not a valid branch, tag or commit", ref)
	}
	return ""
}
