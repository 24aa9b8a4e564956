package projectfile

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/domain/redact"
)

// What is looked at for secrets. The bounds keep a hostile project from making every call slow; a real one stays far below them.
const (
	maxEnvFiles    = 20
	maxEnvBytes    = 256 << 10 // of each file
	maxEntries     = 50_000    // of the directory
	maxSecrets     = 500
	minSecretBytes = 8 // shorter ones are ordinary words (packageflow-security contract §4.2, row 21)
	maxSecretBytes = 16 << 10
)

// secrets returns the values of secret-named variables in the .env files of the directory.
func (f folder) secrets() []string {
	var found []string
	seen := map[string]bool{}
	for _, name := range f.envFiles() {
		data, err := f.head(name, maxEnvBytes)
		if err != nil {
			continue // what cannot be read here is not in the environment of what runs here either
		}
		for _, value := range secretValues(string(data)) {
			if len(found) < maxSecrets && !seen[value] {
				seen[value], found = true, append(found, value)
			}
		}
	}
	return found
}

// envFiles returns the names that begin with .env, .env itself first.
func (f folder) envFiles() []string {
	dir, err := f.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	var names []string
	for read := 0; read < maxEntries; {
		batch, err := dir.Readdirnames(1024)
		for _, name := range batch {
			if strings.HasPrefix(name, ".env") {
				names = append(names, name)
			}
		}
		if read += len(batch); err != nil { // io.EOF, or no more can be read
			break
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxEnvFiles)]
}

// secretValues returns the values of a .env file that are worth masking, of quoted ones the text inside; of text with several lines each
// line too, because output arrives line by line.
func secretValues(text string) []string {
	var values []string
	add := func(v string) {
		if v = strings.TrimSpace(v); len(v) >= minSecretBytes && len(v) <= maxSecretBytes && !reference(v) {
			values = append(values, v)
		}
	}
	for text != "" {
		var name, value string
		name, value, text = assignment(text)
		if !redact.IsSecretKey(name) {
			continue
		}
		add(value)
		if unescaped := strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(value); unescaped != value {
			add(unescaped)
			value = unescaped
		}
		if strings.Contains(value, "\n") {
			for line := range strings.Lines(value) {
				if !strings.HasPrefix(line, "-----") { // the frame of a key is no secret
					add(line)
				}
			}
		}
	}
	return values
}

// reference reports a value that only names another variable.
func reference(v string) bool {
	name, ok := strings.CutPrefix(v, "$")
	name = strings.TrimSuffix(strings.TrimPrefix(name, "{"), "}")
	return ok && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// assignment reads a line of a .env file, or several when a quoted value goes on: NAME=value, export NAME=value, NAME: value. Without a
// name the line was none.
func assignment(text string) (name, value, rest string) {
	line, rest, _ := strings.Cut(text, "\n")
	i := strings.IndexAny(line, "=:")
	if trimmed := strings.TrimSpace(line); i < 0 || strings.HasPrefix(trimmed, "#") {
		return "", "", rest
	}
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line[:i]), "export "))
	value = strings.TrimSpace(line[i+1:])
	if value == "" || !strings.ContainsRune("\"'`", rune(value[0])) {
		if at := strings.Index(value, " #"); at >= 0 {
			value = value[:at]
		}
		return name, strings.TrimSpace(value), rest
	}
	quote := value[0]
	from := i + 1 + strings.IndexByte(text[i+1:], quote) + 1
	to := closing(text[from:], quote)
	if to < 0 { // never closed: the line is all there is
		return name, value[1:], rest
	}
	_, rest, _ = strings.Cut(text[from+to:], "\n")
	return name, text[from : from+to], rest
}

// closing returns where the quote ends that text begins in, -1 when nowhere. A backslash protects what follows it, except in single quotes.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '\'':
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}
