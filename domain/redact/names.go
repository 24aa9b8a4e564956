package redact

// name is a key in the normal form of the key-name rule: lower case, words joined by underscores. It keeps the last 64 bytes of a longer one.
type name struct {
	buf  [maxName]byte
	from int  // the name is buf[from:]
	cut  bool // it was longer
}

// normal splits camelCase and treats all other punctuation as the end of a word.
func normal(s string) name {
	n := name{from: maxName}
	for i := len(s) - 1; i >= 0; i-- {
		c := s[i]
		word := isWord(c) && c != '_'
		switch {
		case !word && (n.from == maxName || n.buf[n.from] == '_'):
			continue
		case !word:
			c = '_'
		case isUpper(c):
			c |= 0x20
		}
		if n.from == 0 {
			n.cut = true
			break
		}
		n.from--
		n.buf[n.from] = c
		if isUpper(s[i]) && i > 0 && (isLower(s[i-1]) || isDigit(s[i-1]) || isUpper(s[i-1]) && i+1 < len(s) && isLower(s[i+1])) && n.from > 0 {
			n.from--
			n.buf[n.from] = '_'
		}
	}
	if n.from < maxName && n.buf[n.from] == '_' {
		n.from++
	}
	return n
}

// Is reports whether the whole name is word.
func (n *name) Is(word string) bool { return !n.cut && string(n.buf[n.from:]) == word }

// words returns the last word and the last two.
func (n *name) words() (last, two []byte) {
	all := n.buf[n.from:]
	last, two = all, all
	seen := 0
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] != '_' {
			continue
		}
		if seen++; seen == 1 {
			last = all[i+1:]
		} else {
			return last, all[i+1:]
		}
	}
	return last, two
}

// IsSecretKey reports whether a value of this name, in JSON, an environment or headers, is secret whatever its content (contract §4.2, key-name
// rule): by its last word, its last two, or as a whole.
func IsSecretKey(name string) bool {
	n := normal(name)
	last, two := n.words()
	switch string(last) {
	case "password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials", "authorization", "cookie", "pin",
		"apikey", "privatekey", "accesskey", "secretkey", "accountkey", "signingkey", "encryptionkey", "connectionstring",
		"dbpassword", "userpassword", "clientsecret", "accesstoken", "refreshtoken", "idtoken", "authtoken", "sessiontoken", "bearertoken":
		return true
	}
	switch string(two) {
	case "api_key", "private_key", "access_key", "account_key", "signing_key", "encryption_key", "secret_key", "client_secret",
		"connection_string":
		return true
	}
	switch string(n.buf[n.from:]) {
	case "auth", "dsn", "database_url", "redis_url", "npm_config_auth", "netrc":
		return !n.cut
	}
	return false
}

// numericKey reports whether numbers and booleans of this name are secret too.
func numericKey(name string) bool {
	if name == "" {
		return false
	}
	n := normal(name)
	last, _ := n.words()
	switch string(last) {
	case "password", "passwd", "passphrase", "pwd", "secret", "pin":
		return true
	}
	return false
}
