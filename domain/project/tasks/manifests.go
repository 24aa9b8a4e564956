package tasks

import (
	"slices"
	"strings"
)

// readPyproject lists the programs and scripts in pyproject.toml, for the project's tool: uv, Poetry or Hatch.
func readPyproject(l *List, d Documents) {
	const file = "pyproject.toml"
	if !d.Has(file) {
		return
	}
	doc, err := d.Tree(file)
	if err != nil {
		l.unread(file, err)
		return
	}
	programs := func(r Runner, v any) {
		names, entries := branches(v)
		for _, name := range names {
			entry := leaf(entries[name])
			if entry == "" {
				entry = leaf(branch(entries[name], "reference")) + leaf(branch(entries[name], "callable"))
			}
			l.add(Task{Name: name, Runner: r, File: file, Command: entry, Argv: []string{string(r), "run", name}})
		}
	}
	switch {
	case branch(doc, "tool", "poetry") != nil || d.Has("poetry.lock"):
		programs(Poetry, branch(doc, "tool", "poetry", "scripts"))
		programs(Poetry, branch(doc, "project", "scripts"))
	case branch(doc, "tool", "uv") != nil || d.Has("uv.lock"):
		programs(UV, branch(doc, "project", "scripts"))
	case branch(doc, "project", "scripts") != nil && branch(doc, "tool", "hatch") == nil:
		programs(UV, branch(doc, "project", "scripts"))
	}
	envs, all := branches(branch(doc, "tool", "hatch", "envs"))
	for _, env := range envs {
		names, entries := branches(branch(all[env], "scripts"))
		for _, name := range names {
			task := env + ":" + name
			if env == "default" {
				task = name
			}
			text := strings.Join(leaves(entries[name]), "\n")
			t := Task{Name: task, Runner: Hatch, File: file, Command: text, Argv: []string{"hatch", "run", task}}
			t.Shell, t.Needs = hatchShell(text, env, names)
			l.add(t)
		}
	}
}

// hatchShell returns the text of a script without what names others of its environment, and those.
func hatchShell(text, env string, names []string) (shell string, needs []string) {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- "))
		word, rest, _ := strings.Cut(line, " ")
		if slices.Contains(names, word) {
			if needs = append(needs, word); env != "default" {
				needs[len(needs)-1] = env + ":" + word
			}
			if line = strings.TrimSpace(rest); line == "" {
				continue
			}
			line = ": " + line
		}
		out = append(out, strings.ReplaceAll(line, "{args}", ""))
	}
	return strings.Join(out, "\n"), needs
}

// composerEvents are the events that every command of Composer triggers.
var composerEvents = []string{"init", "command", "pre-command-run"}

// readComposer lists the scripts of a composer.json that are not events. Events may be needed: by others, or by all.
func readComposer(l *List, d Documents) {
	const file = "composer.json"
	if !d.Has(file) {
		return
	}
	doc, err := d.Tree(file)
	if err != nil {
		l.unread(file, err)
		return
	}
	names, entries := branches(branch(doc, "scripts"))
	for _, name := range names {
		t := Task{Name: name, Runner: Composer, inner: strings.HasPrefix(name, "pre-") || strings.HasPrefix(name, "post-"), File: file, Description: leaf(branch(doc, "scripts-descriptions", name)), Argv: []string{"composer", "run-script", name}, After: true}
		for _, event := range composerEvents {
			if entries[event] != nil && event != name {
				t.Needs = append(t.Needs, event)
			}
		}
		var shell []string
		for _, line := range leaves(entries[name]) {
			word, rest, _ := strings.Cut(line, " ")
			other := strings.TrimPrefix(word, "@")
			switch {
			case other == word && (strings.Contains(word, "::") || strings.Contains(word, `\`)): // a method of a class
			case other == word:
				shell = append(shell, line)
			case other == "php" || other == "composer":
				shell = append(shell, other+" "+rest)
			case other == "putenv":
			default:
				t.Needs = append(t.Needs, other)
			}
		}
		t.Command, t.Shell = strings.Join(leaves(entries[name]), "\n"), strings.Join(shell, "\n")
		l.add(t)
	}
}

// readCargo lists Cargo's commands, and the aliases in its configuration.
func readCargo(l *List, d Documents) {
	const file = "Cargo.toml"
	if !d.Has(file) {
		return
	}
	if config := first(d, ".cargo/config.toml", ".cargo/config"); config != "" {
		doc, err := d.Tree(config)
		if err != nil {
			l.unread(config, err)
		}
		names, entries := branches(branch(doc, "alias"))
		for _, name := range names {
			text := "cargo " + strings.Join(leaves(entries[name]), " ")
			l.add(Task{Name: name, Runner: Cargo, File: config, Command: text, Shell: text, Argv: []string{"cargo", name}})
		}
	}
	for _, name := range []string{"build", "check", "test", "bench", "doc", "clippy", "fmt"} {
		l.add(usual(Cargo, file, name, "cargo", name))
	}
	if d.Has("src/main.rs") {
		l.add(usual(Cargo, file, "run", "cargo", "run"))
	}
}

// readGo lists what the go command does with all packages of a module.
func readGo(l *List, d Documents) {
	if !d.Has("go.mod") {
		return
	}
	for _, name := range []string{"build", "test", "vet"} {
		l.add(usual(Go, "go.mod", name, "go", name, "./..."))
	}
}

// readGradle lists the usual tasks of Gradle; others can be called by name.
func readGradle(l *List, d Documents) {
	file := first(d, "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
	if file == "" {
		return
	}
	program := "gradle"
	if d.Has("gradlew") {
		program = "./gradlew"
	}
	for _, name := range []string{"assemble", "build", "check", "clean", "test"} {
		l.add(usual(Gradle, file, name, program, name))
	}
	l.note("Gradle's tasks are known only when it runs; gradle:NAME runs any of them")
}

// readMaven lists the usual phases of Maven; others, and goals, can be called by name.
func readMaven(l *List, d Documents) {
	if !d.Has("pom.xml") {
		return
	}
	program := "mvn"
	if d.Has("mvnw") {
		program = "./mvnw"
	}
	for _, name := range []string{"clean", "compile", "install", "package", "test", "verify"} {
		l.add(usual(Maven, "pom.xml", name, program, name))
	}
	l.note("goals of Maven's plugins are known only when it runs; mvn:PLUGIN:GOAL runs any of them")
}
