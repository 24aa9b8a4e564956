package redact

import "strings"

// SecretKey reports whether a value under this name, in JSON, an environment or a header, is secret whatever it looks like: by the
// name's last word, its last two, or all of it (contract §4.2, key-name rule).
func SecretKey(name string) bool {
	n := normal(name)
	switch n {
	case "auth", "dsn", "database_url", "redis_url", "npm_config__auth", "netrc":
		return true
	}
	last := strings.LastIndexByte(n, '_') + 1
	switch n[last:] {
	case "password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials", "authorization", "cookie", "apikey", "pin":
		return true
	}
	two := strings.LastIndexByte(n[:max(0, last-1)], '_') + 1
	switch n[two:] {
	case "api_key", "private_key", "access_key", "account_key", "signing_key", "encryption_key", "client_secret", "secret_key", "connection_string":
		return true
	}
	return false
}

// numeric reports whether numbers and booleans under this name are masked as well.
func numeric(name string) bool {
	n := normal(name)
	switch n[strings.LastIndexByte(n, '_')+1:] {
	case "password", "passwd", "passphrase", "pwd", "secret", "pin":
		return true
	}
	return false
}

// normal is a name in lower case with its words joined by underscores: camelCase is split, dashes and dots count as underscores.
func normal(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '-' || c == '.':
			c = '_'
		case c >= 'A' && c <= 'Z':
			if i > 0 && (isLower(name[i-1]) || isDigit(name[i-1]) || isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])) {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return strings.Trim(b.String(), "_")
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// named reports a byte that makes a path next to it another path.
func named(c byte) bool {
	return isLower(c) || isUpper(c) || isDigit(c) || c == '_' || c == '-' || c == '.'
}
