package webhook

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// expandURL returns the URL with its variables filled in: percent-encoded, in path and query only.
func expandURL(raw string, variables map[string]string) (string, error) {
	written, err := ParseURL(raw)
	if err != nil {
		return "", err
	}
	path, err := expand(written.Path, variables, url.PathEscape)
	if err != nil {
		return "", err
	}
	if climbs(path) {
		return "", BlockedError(RuleForm, written.Host, "a part of the URL's path is . or .., which would leave the configured path")
	}
	query, err := expand(written.Query, variables, url.QueryEscape)
	if err != nil {
		return "", err
	}
	if path == "" {
		path = "/"
	}
	whole := written.Origin() + escapeRest(path) + escapeRest(query)
	if u, err := url.Parse(whole); err != nil || u.String() != whole { // no later reader may parse it in another way
		return "", BlockedError(RuleForm, written.Host, "the URL's path cannot be parsed; it may contain a broken %%-escape")
	}
	if len(whole) > MaxURL {
		return "", BlockedError(RuleForm, written.Host, "with its variables filled in, the URL has %d bytes; at most %d are allowed", len(whole), MaxURL)
	}
	return whole, nil
}

// climbs reports path segments that servers resolve away, with any number of escapes: some servers decode more than once.
func climbs(path string) bool {
	decode := strings.NewReplacer("%25", "%", "%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", "\\", "/")
	for {
		plain := decode.Replace(path)
		if plain == path {
			break
		}
		path = plain
	}
	segments := strings.Split(path, "/")
	return slices.Contains(segments, ".") || slices.Contains(segments, "..")
}

// escapeRest percent-encodes what is not allowed literally in a path or query, and nothing that is encoded already.
func escapeRest(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
