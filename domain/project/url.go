package project

import "strings"

// PublicURL returns a remote's URL as it was configured, without what may be a secret: user names and passwords (over ssh the user name stays:
// it is no secret, and without it nothing answers), queries and fragments. It need not be a URL that anything accepts.
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
	if end := strings.IndexAny(path, "?#"); end >= 0 && !strings.EqualFold(scheme, "file") { // in a path they are letters like others
		path = path[:end]
	}
	return strings.TrimSpace(scheme + "://" + authority + path)
}

// authorityEnd returns where the path begins. A password that somebody forgot to escape may have slashed, asked or hashed before its @: then
// what stands behind the first colon is no port, and everything up to the last @ belongs to it.
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

// withoutPassword is for the form user@host:path, whose user is no secret, and for paths. user:password@host:path is no form of git's, but
// users write it.
func withoutPassword(url string) string {
	first, _, _ := strings.Cut(url, "/")
	colon, at := strings.IndexByte(first, ':'), strings.LastIndexByte(first, '@')
	if colon < 0 || at < colon || strings.Contains(first[:colon], "@") {
		return url
	}
	return url[at+1:]
}
