package detect

import "strings"

// maxKey is how far the END line of a key may be that does not look like one.
const maxKey = 8 << 10

// findPrivateKey finds a PEM or PGP private key (row 1) from its BEGIN line to its END line, also with the spaces of the label encoded
// for a URL. A key without an end, as output that was cut short leaves it, reaches to the end of the text.
func findPrivateKey(s string, at, end int) (int, int, bool) {
	if s[at:end] != "-----BEGIN" {
		return 0, 0, false
	}
	head, ok := label(s, end)
	if !ok {
		return 0, 0, false
	}
	body := begun(s[head:])
	limit := len(s)
	if !body {
		limit = min(limit, head+maxKey)
	}
	for i := head; ; {
		next := strings.Index(s[i:limit], "-----END")
		if next < 0 {
			break
		}
		i += next + len("-----END")
		if to, closes := label(s, i); closes {
			return at, to, true
		}
	}
	if !body {
		return 0, 0, false
	}
	return at, len(s), true
}

// label reads the rest of a BEGIN or END line: words, of which PRIVATE KEY (BLOCK) are the last, and five dashes.
func label(s string, i int) (end int, ok bool) {
	s = s[:min(len(s), i+120)]
	n := strings.Index(s[i:], "-----")
	if n < 0 {
		return 0, false
	}
	name := s[i : i+n]
	if strings.ContainsAny(name, "+%") {
		name = strings.NewReplacer("+", " ", "%20", " ").Replace(name)
	}
	if strings.Trim(name, " ABCDEFGHIJKLMNOPQRSTUVWXYZ"+digits) != "" || !strings.HasPrefix(name, " ") {
		return 0, false
	}
	name = strings.TrimSuffix(name, " BLOCK")
	return i + n + len("-----"), strings.HasSuffix(name, " PRIVATE KEY")
}

// begun reports whether what follows a BEGIN line is a key rather than the code or the prose of a text that merely mentions it.
func begun(rest string) bool {
	if rest == "" || strings.IndexByte("\"'`)", rest[0]) >= 0 {
		return rest == ""
	}
	body := strings.TrimLeft(strings.NewReplacer(`\r`, "\n", `\n`, "\n", "%0D", "\n", "%0A", "\n").Replace(rest[:min(len(rest), 200)]), " \t\r\n+->|\\")
	n := 0
	for n < len(body) && (isWord(body[n]) && body[n] != '_' || body[n] == '+' || body[n] == '/') {
		n++
	}
	return n >= 16 || n == len(body) || strings.HasPrefix(body, "Proc-Type:") || strings.HasPrefix(body, "Version:") || strings.HasPrefix(body, "Comment:")
}
