package project

import "strings"

// PublicURL returns a remote's URL as configured, without what may be a secret: user names and passwords (over ssh the user name stays: it is not
// secret, and nothing works without it), queries and fragments. The URL need not be valid.
func PublicURL(url string) string {
	url = plain(strings.TrimSpace(url))
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return withoutPassword(url)
	}
	end := authorityEnd(rest)
	authority, path := rest[:end], rest[end:]
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, _, _ := strings.Cut(authority[:at], ":")
		authority = authority[at+1:]
		if user != "" && strings.Contains(strings.ToLower(scheme), "ssh") {
			authority = user + "@" + authority
		}
	}
	if end := strings.IndexAny(path, "?#"); end >= 0 && !strings.EqualFold(scheme, "file") { // in a path they are ordinary characters
		path = path[:end]
	}
	return strings.TrimSpace(scheme + "://" + authority + path)
}

// authorityEnd returns where the path begins. An unescaped password may contain a slash, a question mark or a hash before its @: then what follows
// the first colon is not a port, and everything up to the last @ belongs to the password.
func authorityEnd(rest string) int {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return len(rest)
	}
	_, port, ok := strings.Cut(rest[:end], ":")
	at := strings.LastIndexByte(rest, '@')
	if at < end || !ok || strings.HasPrefix(rest, "[") || strings.Contains(rest[:end], "@") || strings.Trim(port, "0123456789") == "" && port != "" {
		return end
	}
	if path := strings.IndexAny(rest[at:], "/?#"); path >= 0 {
		return at + path
	}
	return len(rest)
}

// withoutPassword removes the password from the form user@host:path, whose user is not secret, and from paths. user:password@host:path is not a form
// of git's, but users write it.
func withoutPassword(url string) string {
	first, _, _ := strings.Cut(url, "/")
	colon, at := strings.IndexByte(first, ':'), strings.LastIndexByte(first, '@')
	if colon < 0 || at < colon || strings.Contains(first[:colon], "@") {
		return url
	}
	return url[at+1:]
}
