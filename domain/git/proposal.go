package git

import (
	"net/url"
	"strings"
)

// ProposalPage returns the page on which a repository host opens a pull or merge request from a branch into another; empty for a local path and for
// an unknown host.
func (u URL) ProposalPage(base, branch string) string {
	if u.IsZero() || u.IsLocal() || u.host == "" {
		return ""
	}
	top := "https://" + u.host + "/" + u.path
	query := func(page string, pairs ...string) string {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return top + page + "?" + values.Encode()
	}
	compare := top + "/compare/" + refPath(base) + "..." + refPath(branch)
	switch labels := "." + u.host; {
	case strings.Contains(labels, ".github."):
		return compare + "?expand=1"
	case strings.Contains(labels, ".gitlab."):
		return query("/-/merge_requests/new", "merge_request[source_branch]", branch, "merge_request[target_branch]", base)
	case u.host == "bitbucket.org":
		return query("/pull-requests/new", "source", branch, "dest", base)
	case u.host == "codeberg.org", strings.Contains(labels, ".gitea."), strings.Contains(labels, ".forgejo."):
		return compare
	}
	return ""
}

// GitHub reports whether the host is GitHub, judged by its name.
func (u URL) GitHub() bool {
	return !u.IsZero() && !u.IsLocal() && strings.Contains("."+u.host, ".github.")
}

// ReleasePage returns the page on which a repository host creates a release of a tag; empty in the same cases as ProposalPage, and for hosts without
// releases.
func (u URL) ReleasePage(tag string) string {
	if u.IsZero() || u.IsLocal() || u.host == "" {
		return ""
	}
	top := "https://" + u.host + "/" + u.path
	switch labels := "." + u.host; {
	case strings.Contains(labels, ".gitlab."):
		return top + "/-/releases/new?" + url.Values{"tag_name": {tag}}.Encode()
	case u.GitHub(), u.host == "codeberg.org", strings.Contains(labels, ".gitea."), strings.Contains(labels, ".forgejo."):
		return top + "/releases/new?" + url.Values{"tag": {tag}}.Encode()
	}
	return ""
}

// refPath returns a branch name as part of a URL path.
func refPath(branch string) string {
	parts := strings.Split(branch, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}
