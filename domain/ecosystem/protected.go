package ecosystem

import (
	"path"
	"slices"
	"strings"
)

// builtin returns protected in every ecosystem, whatever its manifest says. Upper and lower case are one.
func builtin() []string {
	return []string{".git", ".env", ".env.*", "secrets/", "credentials/", "*.pem", "*.key", "id_rsa", "id_ed25519", ".ssh/"}
}

// ProtectedRules are patterns in the manner of gitignore: one without a slash matches at any depth, one with a slash from the top, one with a slash at its
// end directories alone; ** stands for any directories; what is below a directory that matches is protected with it. Of a manifest's patterns the
// last that matches counts, and one that begins with ! lets go what another of them protects, though nothing that is always protected.
// A pattern that cannot be read means itself.
type ProtectedRules struct{ always, named []rule }

type rule struct {
	text     string
	segments []string
	anchored bool
	below    bool // directories alone
	lets     bool // go
}

// NewProtectedRules makes the rules of a manifest with those patterns.
func NewProtectedRules(noTouch []string) ProtectedRules {
	return ProtectedRules{always: parsed(builtin()), named: parsed(noTouch)}
}

func parsed(patterns []string) []rule {
	rules := make([]rule, 0, len(patterns))
	for _, text := range patterns {
		r := rule{text: text}
		p, lets := strings.CutPrefix(strings.TrimSpace(text), "!")
		p = strings.TrimPrefix(p, `\`) // \! and \# begin with the character itself
		p, r.below = strings.CutSuffix(p, "/")
		r.lets, r.anchored = lets, strings.Contains(p, "/")
		p = strings.Trim(p, "/")
		if p == "" {
			continue
		}
		r.segments = strings.Split(p, "/")
		if !r.anchored && p != "**" {
			r.segments = append([]string{"**"}, r.segments...)
		}
		rules = append(rules, r)
	}
	return rules
}

// Match returns the pattern that protects the path, which is relative to its repository and has slashes; one that ends in a slash is a directory.
func (r ProtectedRules) Match(name string) (pattern string, ok bool) {
	segments, directory := split(name)
	if len(segments) == 0 {
		return "", false
	}
	lower, _ := split(strings.ToLower(name))
	for _, rule := range r.always {
		if rule.covers(lower, directory) {
			return rule.text, true
		}
	}
	for _, rule := range slices.Backward(r.named) {
		if rule.covers(segments, directory) {
			return rule.text, !rule.lets
		}
	}
	return "", false
}

// ProtectedPath is a path that is protected, and why.
type ProtectedPath struct {
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
}

// Find returns those of the paths that are protected, in their order.
func (r ProtectedRules) Find(paths []string) []ProtectedPath {
	var hits []ProtectedPath
	for _, p := range paths {
		if pattern, ok := r.Match(p); ok {
			hits = append(hits, ProtectedPath{Path: p, Pattern: pattern})
		}
	}
	return hits
}

// split returns a path's names, without empty ones and single dots: what a file system makes of it.
func split(name string) (segments []string, directory bool) {
	for s := range strings.SplitSeq(name, "/") {
		if s != "" && s != "." {
			segments = append(segments, s)
		}
	}
	return segments, strings.HasSuffix(name, "/")
}

// covers reports whether the rule matches the path or a directory that it is in.
func (r rule) covers(segments []string, directory bool) bool {
	for n := 1; n <= len(segments); n++ {
		if (n < len(segments) || directory || !r.below) && walk(r.segments, segments[:n]) {
			return true
		}
	}
	return false
}

// walk matches names with patterns, of which ** takes any number. Going back to the last ** is enough, as with stars in a name.
func walk(patterns, names []string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(names) {
		switch {
		case p < len(patterns) && patterns[p] == "**":
			star, from = p, n
			p++
		case p < len(patterns) && same(patterns[p], names[n]):
			p, n = p+1, n+1
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	// A pattern that ends in ** matches the contents of the directory, not the directory itself; ** alone matches everything.
	if p == len(patterns)-1 && patterns[p] == "**" {
		return false
	}
	return p == len(patterns)
}

// same matches one name with one pattern.
func same(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return ok || err != nil && pattern == name
}
