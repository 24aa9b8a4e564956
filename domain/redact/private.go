package redact

import "strings"

// findPrivateKey finds a PEM or PGP private key (row 1) from its BEGIN line to its END line, also with the spaces of the label encoded
// for a URL. A key without an end, as output that was cut short leaves it, reaches to the end of the text.
func findPrivateKey(f *finder, at, end int) (int, int, bool) {
	s := f.s
	if s[at:end] != "-----BEGIN" {
		return 0, 0, false
	}
	head, ok := label(s, end)
	if !ok {
		return 0, 0, false
	}
	for i := head; ; {
		next := strings.Index(s[i:], "-----END")
		if next < 0 {
			break
		}
		i += next + len("-----END")
		if to, closes := label(s, i); closes {
			return at, to, true
		}
	}
	return at, len(s), unfinished(s[head:])
}

// label reads the rest of a BEGIN or END line: words, of which PRIVATE KEY (BLOCK) are the last, and five dashes.
func label(s string, i int) (end int, ok bool) {
	s = s[:min(len(s), i+120)]
	n := strings.Index(s[i:], "-----")
	if n < 0 {
		return 0, false
	}
	name := strings.NewReplacer("+", " ", "%20", " ").Replace(s[i : i+n])
	if strings.Trim(name, " ABCDEFGHIJKLMNOPQRSTUVWXYZ"+digits) != "" || !strings.HasPrefix(name, " ") {
		return 0, false
	}
	name = strings.TrimSuffix(name, " BLOCK")
	return i + n + len("-----"), strings.HasSuffix(name, " PRIVATE KEY")
}

// unfinished reports whether what follows a BEGIN line is a key rather than the code or the prose of a text that merely mentions it.
func unfinished(rest string) bool {
	if rest == "" {
		return true
	}
	body := strings.TrimLeft(strings.NewReplacer(`\r`, "\n", `\n`, "\n", "%0D", "\n", "%0A", "\n").Replace(rest[:min(len(rest), 200)]), " \t\r\n+->|\\")
	n := 0
	for n < len(body) && (isWord(body[n]) && body[n] != '_' || body[n] == '+' || body[n] == '/') {
		n++
	}
	return n >= 16 || n == len(body) || strings.HasPrefix(body, "Proc-Type:") || strings.HasPrefix(body, "Version:") || strings.HasPrefix(body, "Comment:")
}
