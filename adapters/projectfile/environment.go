package projectfile

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/ports/projectport"
)

// Surroundings implements projectport.Directories.
func (d *directories) Surroundings(ctx context.Context, dir string) (projectport.Surroundings, error) {
	if err := ctx.Err(); err != nil {
		return projectport.Surroundings{}, err
	}
	in, err := open(dir)
	if err != nil {
		return projectport.Surroundings{}, err
	}
	defer in.Close()
	environ := slices.Clone(d.env())
	v := variables(environ)
	paths := d.toolchains(v)
	return projectport.Surroundings{
		Tools:    d.tools(in, v, paths),
		Environ:  environ,
		Paths:    paths,
		Home:     d.home,
		Own:      d.owned(v),
		Secrets:  in.secrets(),
		Settings: append(in.settings(), userSettings(v)...),
	}, nil
}

// variables returns an environment by name; the last of equal names counts, as it does for a child.
func variables(environ []string) map[string]string {
	v := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			v[name] = value
		}
	}
	return v
}

// under returns a path below an absolute base; of another base, which a variable that is not set or means something else gives, there is none.
func under(base, name string) string {
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, name)
}

// toolchains returns the directories in which package managers, compilers and their shims usually lie, as far as they exist.
func (d *directories) toolchains(v map[string]string) []string {
	var dirs []string
	for _, c := range []string{
		under(v["VOLTA_HOME"], "bin"), under(d.home, ".volta/bin"), under(v["PNPM_HOME"], "."), under(d.home, ".local/share/pnpm"),
		under(d.home, "Library/pnpm"), under(v["BUN_INSTALL"], "bin"), under(d.home, ".bun/bin"), under(v["FNM_MULTISHELL_PATH"], "bin"),
		under(v["NVM_BIN"], "."), under(d.home, ".yarn/bin"), under(v["CARGO_HOME"], "bin"), under(d.home, ".cargo/bin"),
		under(d.home, "go/bin"), under(d.home, ".deno/bin"), under(d.home, ".local/bin"), "/opt/homebrew/bin", "/opt/homebrew/sbin",
		"/home/linuxbrew/.linuxbrew/bin", "/usr/local/go/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin",
	} {
		if c == "" || slices.Contains(dirs, c) {
			continue
		}
		if info, err := os.Stat(c); err == nil && info.IsDir() {
			dirs = append(dirs, c)
		}
	}
	return dirs
}

// owned are Countersign's own directories and the files and directories in which AI clients keep their settings: what is written there
// decides what agents may do. They are named whether they exist or not, because making one decides as much; where one is a link, what it
// leads to is named too.
func (d *directories) owned(v map[string]string) []string {
	config := v["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(config) {
		config = under(d.home, ".config")
	}
	var own []string
	add := func(path string) {
		for _, p := range []string{path, settled(path)} {
			if !slices.Contains(own, p) {
				own = append(own, p)
			}
		}
	}
	for _, path := range d.own {
		add(path)
	}
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG", "COPILOT_HOME"} {
		if filepath.IsAbs(v[name]) {
			add(filepath.Clean(v[name]))
		}
	}
	for _, name := range []string{".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".copilot", ".codeium", ".windsurf", ".continue",
		".cline", ".qwen", ".amp", ".agents", ".kiro", ".roo", ".factory", ".junie", ".trae", ".augment", ".vscode/mcp.json", ".aider.conf.yml",
		".local/share/opencode", "Library/Application Support/Claude", "Library/Application Support/Code/User"} {
		if path := under(d.home, name); path != "" {
			add(path)
		}
	}
	for _, name := range []string{"opencode", "claude", "Claude", "github-copilot", "goose", "zed", "crush", "amp", "Code/User"} {
		if path := under(config, name); path != "" {
			add(path)
		}
	}
	return own
}
