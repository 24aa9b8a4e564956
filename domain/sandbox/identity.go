package sandbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/domain/git"
)

// The maximum lengths of names (opencode contract §3.4).
const (
	MaxProjectName = 100 // bytes of a project's derived name
	collisionHash  = 6   // hex digits after a name that is already taken
	cutHash        = 8   // hex digits after a name that was cut
)

// ProjectName returns the name of a project for directories and users: owner and repository, readable, at most MaxProjectName bytes, of the form
// ^[a-z0-9_][\p{L}\p{N}._-]*$ (opencode contract §3.4). A name that another project has gets a hash of the URL at its end. The result is stored and
// never computed again. taken may be nil.
func ProjectName(url git.URL, taken func(name string) bool) string {
	name := readable(url)
	if name == "" {
		name = "unknown-" + ShortHash(url)
	}
	name = capped(name, url, "", cutHash)
	if taken == nil || !taken(name) {
		return name
	}
	sum := hash(url)
	for digits := collisionHash; digits < len(sum); digits++ {
		if longer := capped(name, url, "-"+sum[:digits], 0); !taken(longer) {
			return longer
		}
	}
	return capped(name, url, "-"+sum, 0)
}

// readable returns owner-repo, sanitised; empty if no character of it is allowed in a name.
func readable(url git.URL) string {
	if url.IsZero() {
		return ""
	}
	owner, repo, several := strings.Cut(url.Path(), "/")
	switch {
	case url.IsLocal():
		owner, repo = path.Base(path.Dir(url.Path())), strings.TrimSuffix(path.Base(url.Path()), ".git")
	case !several:
		owner, repo = "", owner
	}
	if repo = sanitise(repo); strings.Trim(repo, ".-") == "" {
		return ""
	}
	name := strings.TrimLeft(cmp.Or(sanitise(owner), "unknown")+"-"+repo, ".-")
	if first, _ := utf8.DecodeRuneInString(name); !isASCIIWord(first) {
		name = "_" + name // letters of other scripts stay readable after it
	}
	return name
}

// sanitise returns part in lower case with one dash for every run of characters other than letters, numbers, underscores and dots, and none at its
// ends.
func sanitise(part string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(part) {
		if r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsNumber(r) || r == utf8.RuneError {
			r = '-'
		}
		if r != '-' || !strings.HasSuffix(b.String(), "-") {
			b.WriteRune(r)
		}
	}
	return strings.Trim(b.String(), "-")
}

func isASCIIWord(r rune) bool { return r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }

// capped returns name and end in at most MaxProjectName bytes. If name must be cut and end does not make it unique, digits of the URL's hash do.
func capped(name string, url git.URL, end string, digits int) string {
	if len(name)+len(end) <= MaxProjectName {
		return name + end
	}
	if digits > 0 {
		end = "-" + hash(url)[:digits]
	}
	room := MaxProjectName - len(end)
	for room > 0 && !utf8.RuneStart(name[room]) {
		room--
	}
	return strings.TrimRight(name[:room], "-") + end
}

// hash returns the SHA-256 of the canonical URL in hex.
func hash(url git.URL) string {
	sum := sha256.Sum256([]byte(url.String()))
	return hex.EncodeToString(sum[:])
}

// ShortHash identifies the project where a name must be short and plain: in lock files (opencode contract §3.4).
func ShortHash(url git.URL) string { return hash(url)[:12] }

// CloneURL returns the URL for git to clone from: raw, which url was parsed from, with its transport and path, without user names over http and
// without passwords. If raw is not a complete URL, and for local paths, it is the canonical one (opencode contract §6, last paragraph).
func CloneURL(raw string, url git.URL) string {
	raw = strings.TrimSpace(raw)
	scheme, rest, whole := strings.Cut(raw, "://")
	if whole && !url.IsLocal() {
		scheme = strings.ToLower(scheme)
		authority, tail, _ := strings.Cut(rest, "/")
		user, host := "", authority
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			user, host = authority[:at], authority[at+1:]
		}
		if user, _, _ = strings.Cut(user, ":"); user != "" && strings.Contains(scheme, "ssh") {
			host = user + "@" + host
		}
		return scheme + "://" + host + "/" + tail
	}
	host, _, scp := strings.Cut(raw, ":")
	if scp && !whole && !url.IsLocal() && !strings.Contains(host, "/") {
		return raw // on a plain ssh server host:/path and host:path are different directories
	}
	return url.String()
}

// ProjectTitle returns a project's name for people: "user-repo" → "User Repo" (opencode contract §9.2).
func ProjectTitle(name string) string {
	words := strings.Fields(strings.ReplaceAll(name, "-", " "))
	for i, word := range words {
		first, size := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToTitle(first)) + word[size:]
	}
	return strings.Join(words, " ")
}

// CheckName fails with ErrName for an invalid sandbox name (opencode contract §12.3).
func CheckName(name string) error {
	switch {
	case name == "":
		return ErrName.WithMessage("a sandbox needs a name")
	case len(name) > MaxName:
		return ErrName.WithMessage("the sandbox's name has %d characters; at most %d are allowed", len(name), MaxName)
	case !named(name):
		return ErrName.WithMessage("invalid sandbox name %.80q: use letters, digits, _ and -, and do not start with -", name)
	}
	return nil
}

// named reports whether the text matches [a-zA-Z0-9_][a-zA-Z0-9_-]*. (Regular expressions would be compiled at every start.)
func named(s string) bool {
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// directory reports whether the text is a letter, digit or _ of any script, followed by characters other than slashes of either kind and ASCII
// control characters.
func directory(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return (unicode.IsLetter(first) || unicode.IsNumber(first) || first == '_') &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' })
}

// SandboxKey returns the sandbox's key in Project.Sandboxes: two names that differ only in case are one sandbox.
func SandboxKey(name string) string { return strings.ToLower(name) }

// CheckProjectName fails with ErrState if a stored project name could lead out of the directories with that name.
func CheckProjectName(name string) error {
	if len(name) > 255-len("-opencode.log") || !utf8.ValidString(name) || !directory(name) {
		return ErrState.WithMessage("a recorded project has the invalid name %.80q; repair the state file or move it away", name)
	}
	return nil
}

// DeployKeysURL returns the page of the repository's host for deploy keys (opencode contract §13.5), empty if that is not known.
func DeployKeysURL(u git.URL) string {
	page := map[string]string{"github.com": "/settings/keys", "gitlab.com": "/-/settings/repository", "bitbucket.org": "/admin/access-keys/"}[u.Host()]
	if page == "" {
		return ""
	}
	return "https://" + u.Host() + "/" + u.Path() + page
}

// RequestNumber returns the number of the pull request in a word such as pr:12 (or mr:12).
func RequestNumber(word string) (number int, ok bool) {
	digits, ok := strings.CutPrefix(word, "pr:")
	if !ok {
		digits, ok = strings.CutPrefix(word, "mr:")
	}
	number, err := strconv.Atoi(digits)
	return number, ok && err == nil && number > 0 && digits[0] != '+'
}

// PullRequestURL returns the page of the repository's host that opens a pull request from one branch to another, empty if that is not known.
func PullRequestURL(u git.URL, base, branch string) string {
	at := "https://" + u.Host() + "/" + u.Path()
	switch host := u.Host(); {
	case u.IsLocal():
		return ""
	case host == "github.com" || strings.HasPrefix(host, "github."):
		return at + "/compare/" + escapedPath(base) + "..." + escapedPath(branch) + "?expand=1"
	case host == "gitlab.com" || strings.HasPrefix(host, "gitlab."):
		return at + "/-/merge_requests/new?" + url.Values{"merge_request[source_branch]": {branch}, "merge_request[target_branch]": {base}}.Encode()
	case host == "bitbucket.org":
		return at + "/pull-requests/new?" + url.Values{"source": {branch}, "dest": {base}}.Encode()
	case host == "codeberg.org" || strings.HasPrefix(host, "gitea.") || strings.HasPrefix(host, "forgejo."):
		return at + "/compare/" + escapedPath(base) + "..." + escapedPath(branch)
	}
	return ""
}

// escapedPath returns a branch as a path of a URL has it.
func escapedPath(branch string) string {
	parts := strings.Split(branch, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}
