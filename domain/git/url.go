// Package git holds the names of git objects (a clone URL in one normal form, a branch, a commit) and the parsers for the script output of the git
// program: status, worktrees, refs, lists of files. Every name is valid by construction, so that a name from a caller can never be an option, a path
// out of the repository, or a secret. The package does not run git.
//
// Its API may change at any time.
package git

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/fault"
)

// MaxURLBytes is the maximum length of a clone URL in bytes (opencode contract §3.3).
const MaxURLBytes = 2048

// ErrURL is returned for text that is not a clone URL. Its message never repeats the text, which may contain a password.
var ErrURL = fault.New(fault.Invalid, "git_url_invalid", "not a git clone URL; use https://host/owner/repo, git@host:owner/repo or file:///path")

// URL is a clone URL in normal form (opencode contract §3.2): the identity of a repository, independent of spelling. It never contains a password or
// a token. Values are comparable; the zero URL names nothing.
type URL struct {
	scheme string // "" for the form user@host:path, else ssh, http, https, git or file
	user   string
	host   string // lower case; IPv6 in brackets
	port   int    // 0 for the default port of the scheme
	path   string // without outer slashes and .git; for file the absolute path
}

// The default port of ssh.
const sshPort = 22

// ownPort returns the default port of a transport that names a repository on a host, else 0. git's other transports run programs or are obsolete.
func ownPort(scheme string) int {
	switch scheme {
	case "ssh", "git+ssh", "ssh+git":
		return sshPort
	case "https":
		return 443
	case "http":
		return 80
	case "git":
		return 9418
	}
	return 0
}

// isHost reports whether s is a host name in lower case, or an IPv6 address in brackets: [a-z0-9_]([a-z0-9_.-]*[a-z0-9_])? or
// \[[0-9a-f:.]*:[0-9a-f:.]*\]. (Regular expressions would be compiled at every start.)
func isHost(s string) bool {
	const name = "abcdefghijklmnopqrstuvwxyz0123456789_"
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && strings.Contains(inner, ":") && strings.Trim(inner, "0123456789abcdef:.") == ""
	}
	return s != "" && strings.Trim(s, name+".-") == "" && strings.Trim(s[:1]+s[len(s)-1:], name) == ""
}

// isUser reports whether s is a user name: [A-Za-z0-9_][A-Za-z0-9_.+-]*.
func isUser(s string) bool {
	for i := range len(s) {
		c := s[i]
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && c != '_' && (c < '0' || c > '9') && (i == 0 || c != '.' && c != '+' && c != '-') {
			return false
		}
	}
	return s != ""
}

// ParseURL normalizes a clone URL: a scheme URL, user@host:path, host.tld/owner/repo, or an absolute local path. It removes default ports,
// surrounding slashes and .git, converts the host to lower case, and drops passwords (over http, whole user names): call CarriesCredentials to warn
// about them. It fails with ErrURL. Parsing the result of String returns the same URL.
func ParseURL(s string) (URL, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return URL{}, ErrURL.WithMessage("the git URL is empty")
	case len(s) > MaxURLBytes:
		return URL{}, ErrURL.WithMessage("the git URL has %d bytes; at most %d are allowed", len(s), MaxURLBytes)
	case s[0] == '-':
		return URL{}, ErrURL.WithMessage("a git URL must not start with a dash")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return URL{}, ErrURL.WithMessage("a git URL must be UTF-8 without spaces and control characters")
	case strings.ContainsAny(s, `\?#`):
		return URL{}, ErrURL.WithMessage("a git URL has no backslash, query or fragment")
	}
	scheme, rest, ok := strings.Cut(s, "://")
	switch {
	case ok && !strings.ContainsAny(scheme, "/:@"):
		return parseScheme(strings.ToLower(scheme), rest)
	case s[0] == '/':
		return local(s)
	}
	host, path, ok := strings.Cut(s, ":")
	if i := strings.Index(s, "]:"); i >= 0 { // an IPv6 host contains colons
		host, path, ok = s[:i+1], s[i+2:], true
	}
	if ok && !strings.Contains(host, "/") {
		return parseSCP(host, path)
	}
	host, path, _ = strings.Cut(s, "/")
	if !strings.Contains(strings.Trim(host, "."), ".") || !strings.Contains(strings.Trim(path, "/"), "/") {
		return URL{}, ErrURL.WithMessage("not a git URL: a relative path; give an absolute path, or a URL with a host")
	}
	return remote(URL{user: "git", host: host}, path)
}

// CarriesCredentials reports whether ParseURL drops a password or token from s.
func CarriesCredentials(s string) bool {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(s), "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return false
	}
	_, password, _ := strings.Cut(authority[:at], ":")
	return password != "" || !strings.Contains(strings.ToLower(scheme), "ssh") && authority[:at] != "git"
}

// String returns the normal form, which ParseURL accepts; the zero URL is empty.
func (u URL) String() string {
	switch {
	case u.IsZero():
		return ""
	case u.IsLocal():
		return "file://" + u.path
	case u.scheme == "":
		return u.user + "@" + u.host + ":" + u.path + ".git"
	case u.user != "":
		return u.scheme + "://" + u.user + "@" + u.host + ":" + strconv.Itoa(u.port) + "/" + u.path + ".git"
	}
	return u.scheme + "://" + u.host + ":" + strconv.Itoa(u.port) + "/" + u.path + ".git"
}

// IsZero reports whether u is the zero URL.
func (u URL) IsZero() bool { return u == URL{} }

// IsLocal reports whether u is a path on this machine.
func (u URL) IsLocal() bool { return u.scheme == "file" }

// Host returns the host name in lower case without its port; empty for a local path.
func (u URL) Host() string { return u.host }

// Path returns the path on the host, without outer slashes and .git ("owner/repo"); for a local repository, the absolute path.
func (u URL) Path() string { return u.path }

// MarshalText returns the result of String.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText parses the text with ParseURL.
func (u *URL) UnmarshalText(b []byte) error {
	parsed, err := ParseURL(string(b))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}

func parseScheme(scheme, rest string) (URL, error) {
	authority, path, _ := strings.Cut(rest, "/")
	if scheme == "file" {
		if authority != "" && authority != "localhost" {
			return URL{}, ErrURL.WithMessage("a file URL has no host; write file:///path")
		}
		return local("/" + path)
	}
	own := ownPort(scheme)
	if own == 0 {
		return URL{}, ErrURL.WithMessage("the git URL's scheme is not one of https, http, ssh, git and file")
	}
	if own == sshPort {
		scheme = "ssh"
	}
	u := URL{scheme: scheme, user: "git"}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		name, _, _ := strings.Cut(authority[:at], ":")
		if authority = authority[at+1:]; scheme == "ssh" && name != "" {
			u.user = name
		}
	}
	u.host = authority
	if colon := strings.LastIndexByte(authority, ':'); colon > strings.LastIndexByte(authority, ']') {
		port, err := strconv.ParseUint(authority[colon+1:], 10, 16)
		if err != nil || port == 0 || authority[colon+1] == '+' {
			return URL{}, ErrURL.WithMessage("the git URL's port is not a number from 1 to 65535")
		}
		if u.host = authority[:colon]; int(port) != own {
			u.port = int(port)
		}
	}
	if u.port == 0 { // the form without a scheme stands for every transport on its default port
		u.scheme = ""
	}
	return remote(u, path)
}

func parseSCP(authority, path string) (URL, error) {
	u := URL{user: "git", host: authority}
	if name, host, ok := strings.Cut(authority, "@"); ok {
		u.user, u.host = name, host
	} else if ownPort(strings.ToLower(authority)) != 0 || len(authority) == 1 {
		return URL{}, ErrURL.WithMessage("the git URL's host is missing: write two slashes after the scheme; a drive letter is not a host")
	}
	if strings.HasPrefix(path, "//") {
		return URL{}, ErrURL
	}
	return remote(u, path)
}

// remote completes a URL with a host: it checks every part and cleans the path.
func remote(u URL, path string) (URL, error) {
	u.host = strings.ToLower(u.host)
	switch {
	case !isHost(u.host):
		return URL{}, ErrURL.WithMessage("the git URL's host is missing or invalid")
	case !isUser(u.user):
		return URL{}, ErrURL.WithMessage("the git URL's user name has characters that are not allowed")
	case u.scheme != "" && u.scheme != "ssh":
		u.user = ""
	}
	parts, err := segments(strings.TrimSuffix(strings.TrimRight(path, "/"), ".git"))
	if err != nil {
		return URL{}, err
	}
	for _, part := range parts {
		// A colon would start git's remote-helper syntax; an @ after a name is the rest of a password that contained a slash.
		if strings.Contains(part, ":") || strings.LastIndexByte(part, '@') > 0 {
			return URL{}, ErrURL.WithMessage("the git URL's path has a colon or an @ inside a name")
		}
	}
	u.path = strings.Join(parts, "/")
	if u.path == "" || u.path[0] == '-' { // a remote program would parse it as an option
		return URL{}, ErrURL.WithMessage("the git URL has no path, or one that starts with a dash; add the repository after the host")
	}
	return u, nil
}

// local returns the URL of an absolute path, in which the caller has resolved symbolic links.
func local(path string) (URL, error) {
	parts, err := segments(path)
	if err != nil {
		return URL{}, err
	}
	if len(parts) == 0 || strings.Contains(path, "%") { // git decodes %2e in a URL but not in a path
		return URL{}, ErrURL.WithMessage("write a local repository as an absolute path without percent signs")
	}
	return URL{scheme: "file", path: "/" + strings.Join(parts, "/")}, nil
}

// encoded lists the prefixes of percent escapes that hide a dot, a slash, a backslash or a control character.
var encoded = []string{"%2e", "%2f", "%5c", "%7f", "%0", "%1"}

// segments splits a path at its slashes, drops empty segments, and rejects "." and "..".
func segments(path string) ([]string, error) {
	lower := strings.ToLower(path)
	if slices.ContainsFunc(encoded, func(e string) bool { return strings.Contains(lower, e) }) {
		return nil, ErrURL.WithMessage("the git URL's path contains a percent-encoded character")
	}
	parts := slices.DeleteFunc(strings.Split(path, "/"), func(p string) bool { return p == "" })
	if slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return nil, ErrURL.WithMessage("the git URL's path has a \".\" or \"..\" component")
	}
	return parts, nil
}
