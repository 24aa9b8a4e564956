package project

import "strings"

// Manager is a package manager. The zero Manager is none.
type Manager string

// The supported package managers. Nothing else is ever started as one, because the name comes from a file that a repository controls.
const (
	NPM  Manager = "npm"
	PNPM Manager = "pnpm"
	Yarn Manager = "yarn"
	Bun  Manager = "bun"
)

// Known reports whether m is one of the four.
func (m Manager) Known() bool { return m == NPM || m == PNPM || m == Yarn || m == Bun }

// DirContents is what was found in a project's directory; nothing else decides its type.
type DirContents struct {
	Has         func(name string) bool // a file or directory with that name exists in it
	Manifest    *Manifest              // nil if there is no readable package.json
	Broken      error                  // why an existing package.json cannot be read; ErrManifest
	NVMRC       string                 // first line of .nvmrc
	NodeVersion string                 // first line of .node-version
}

// Facts is what is known about a project's directory (packageflow contract §1.2).
type Facts struct {
	Type           string  // "" for no known type
	Manager        Manager // "" for none
	ManagerVersion string  // of the packageManager field, without its hash
	Corepack       bool    // the packageManager field names it
	Declared       string  // the packageManager field as written, where it counts
	DecidedBy      string  // what identifies the manager: "packageManager" or a lockfile; empty for npm as the default
	NodeVersion    string
	Monorepo       bool
	MonorepoTool   string
	Manifest       *Manifest // nil when there is none
	Broken         error     // as in DirContents
}

// DetectFacts decides the type of project with these contents. It fails with ErrManifest if the packageManager field does not name a package manager:
// nothing may be started for such a project; everything else is filled in all the same.
func DetectFacts(c DirContents) (Facts, error) {
	f := Facts{Type: typeOf(c), Manifest: c.Manifest, Broken: c.Broken}
	f.NodeVersion = nodeVersion(c)
	f.MonorepoTool = monorepoTool(c)
	err := f.manager(c)
	if f.MonorepoTool == "" && c.Manifest != nil && c.Manifest.Workspaces { // those of package.json belong to the package manager
		if f.MonorepoTool = string(f.Manager); !f.Manager.Known() {
			f.MonorepoTool = string(NPM)
		}
	}
	f.Monorepo = f.MonorepoTool != ""
	return f, err
}

// Within returns the facts of a directory inside another, whose package manager also applies here if nothing in this one decides: a package of a
// workspace is run by the manager of the whole, in its version.
func (f Facts) Within(outer Facts) Facts {
	if f.DecidedBy == "" && outer.DecidedBy != "" && f.Manifest != nil {
		f.Manager, f.ManagerVersion, f.Corepack = outer.Manager, outer.ManagerVersion, outer.Corepack
		f.Declared, f.DecidedBy = outer.Declared, outer.DecidedBy
	}
	return f
}

func nodeVersion(c DirContents) string {
	candidates := []string{c.NVMRC, c.NodeVersion}
	if c.Manifest != nil {
		candidates = append(candidates, c.Manifest.Volta["node"], c.Manifest.EnginesNode)
	}
	for _, v := range candidates {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}

func monorepoTool(c DirContents) string {
	for _, t := range [][2]string{{"pnpm-workspace.yaml", "pnpm"}, {"nx.json", "nx"}, {"turbo.json", "turbo"}, {"lerna.json", "lerna"},
		{"rush.json", "rush"}, {"go.work", "go"}} {
		if c.Has(t[0]) {
			return t[1]
		}
	}
	return ""
}

// typeOf returns the first type whose marker file exists.
func typeOf(c DirContents) string {
	for _, mark := range [][]string{
		{"rust", "Cargo.toml"}, {"go", "go.mod"}, {"python", "requirements.txt", "pyproject.toml", "setup.py"}, {"ruby", "Gemfile"},
		{"java", "pom.xml", "build.gradle", "build.gradle.kts"}, {"swift", "Package.swift"}, {"dart", "pubspec.yaml"},
	} {
		for _, name := range mark[1:] {
			if c.Has(name) {
				return mark[0]
			}
		}
	}
	if !c.Has("package.json") {
		return ""
	}
	if c.Manifest == nil {
		return "node"
	}
	for _, mark := range [][]string{
		{"nextjs", "next"}, {"nuxt", "nuxt"}, {"tauri", "@tauri-apps/api"}, {"electron", "electron"}, {"react-native", "react-native", "expo"},
		{"vue", "vue"}, {"react", "react"}, {"svelte", "svelte"}, {"angular", "@angular/core"}, {"node-server", "express", "fastify", "koa", "hono"},
	} {
		for _, name := range mark[1:] {
			if c.Manifest.Dependencies[name] || mark[0] == "tauri" && c.Has("src-tauri") {
				return mark[0]
			}
		}
	}
	return "node"
}

// manager decides the package manager: the packageManager field, then the lockfile, then npm if there is a package.json.
func (f *Facts) manager(c DirContents) error {
	if c.Manifest != nil && c.Manifest.PackageManager != "" {
		name, version, _ := strings.Cut(c.Manifest.PackageManager, "@")
		version, _, _ = strings.Cut(version, "+")
		if !Manager(name).Known() || version != "" && !VersionLike(version) {
			return ErrManifest.WithMessage("package.json has the unsupported packageManager %.60q; use npm, pnpm, yarn or bun", c.Manifest.PackageManager)
		}
		f.Manager, f.ManagerVersion, f.Corepack = Manager(name), version, true
		f.Declared, f.DecidedBy = c.Manifest.PackageManager, "packageManager"
		return nil
	}
	for _, lock := range []struct {
		file string
		is   Manager
	}{{"pnpm-lock.yaml", PNPM}, {"yarn.lock", Yarn}, {"bun.lockb", Bun}, {"bun.lock", Bun}, {"package-lock.json", NPM}, {"package.json", NPM}} {
		if c.Has(lock.file) {
			if f.Manager = lock.is; lock.file != "package.json" {
				f.DecidedBy = lock.file
			}
			return nil
		}
	}
	return nil
}

// VersionLike reports whether text has only the characters of versions, ranges and tags. It comes from files that a repository controls and becomes
// an argument of programs, so it must not look like an option either.
func VersionLike(text string) bool {
	return text != "" && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune(".^~_-", r))
	})
}
