package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// LooksLongRunning reports whether a script, by its name or command, runs until it is stopped: a server, a watcher (packageflow contract §2.6, row
// 20). It compares words, not letters: vite build and restart-db end by themselves.
func LooksLongRunning(name, command string) bool {
	first, _, _ := strings.Cut(name, ":")
	switch first {
	case "dev", "start", "serve", "watch", "preview":
		return true
	}
	for _, one := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune("&|;\n()", r) }) {
		if serves(strings.Fields(one)) {
			return true
		}
	}
	return false
}

// serves reports a command line that is a development server's.
func serves(words []string) bool {
	words = program(words)
	if len(words) == 0 {
		return false
	}
	if watches(words) {
		return true
	}
	sub := ""
	if len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		sub = words[1]
	}
	switch path.Base(words[0]) {
	case "vite":
		return sub == "" || sub == "dev" || sub == "serve" || sub == "preview"
	case "next", "nuxt":
		return sub == "dev" || sub == "start"
	case "webpack", "vue-cli-service":
		return sub == "serve"
	case "webpack-dev-server", "nodemon", "ts-node-dev":
		return true
	case "parcel", "tsx":
		return sub == "watch"
	case "react-scripts":
		return sub == "start"
	case "astro", "remix":
		return sub == "dev"
	case "concurrently":
		return slices.ContainsFunc(strings.FieldsFunc(strings.Join(words[1:], " "), func(r rune) bool { return strings.ContainsRune("\"'\\", r) }),
			func(one string) bool { return serves(strings.Fields(one)) })
	}
	return false
}

// watches reports whether a command line watches for changes.
func watches(words []string) bool {
	return slices.ContainsFunc(words[1:], func(word string) bool {
		switch word = strings.Trim(word, "\"'"); word {
		case "--watch", "--watchAll":
			return true
		case "-w":
			return slices.Contains([]string{"tsc", "rollup", "webpack", "babel", "tailwindcss", "sass"}, path.Base(words[0]))
		}
		return false
	})
}

// program returns a command line without what precedes its program: variables, and programs that only start another, with their options.
func program(words []string) []string {
	launched := false
	if at := slices.Index(words, "--"); len(words) > 0 && at > 0 && (words[0] == "dotenv" || words[0] == "dotenvx") {
		words = words[at+1:]
	}
	for len(words) > 0 {
		switch word := words[0]; {
		case word == "npx" || word == "bunx" || word == "cross-env" || word == "env" || word == "dotenv" || word == "dotenvx":
			launched = true
		case launched && strings.HasPrefix(word, "-"):
		case !strings.Contains(word, "="):
			return words
		}
		words = words[1:]
	}
	return nil
}
