package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Axe has axe-core judge the page as it is now and fails the test for every serious or critical finding. AXE_CORE may name
// axe-core's axe.min.js; else it is looked for in NODE_PATH and below npm's global modules, and where it is missing no browser is opened.
func (p *Page) Axe() {
	p.t.Helper()
	source, err := os.ReadFile(p.axe)
	if err != nil {
		p.t.Fatalf("axe-core: %v", err)
	}
	var found []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	p.until(func() error { // a page that is just being exchanged loses axe-core, too
		present, err := p.eval("!!globalThis.axe")
		if err == nil && present != "true" {
			_, err = p.eval("(() => {" + string(source) + "\n; return true; })()")
		}
		if err != nil {
			return err
		}
		doc, err := p.eval(`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help,
		Nodes: v.nodes.slice(0, 5).map((n) => n.target.join(" ") + "  " + n.html.slice(0, 200) + "  " + (n.failureSummary || "").replaceAll("\n", " "))})))`)
		if err == nil {
			err = json.Unmarshal([]byte(doc), &found)
		}
		return err
	}, func() string { return "axe-core could not judge " + p.Address() })
	for _, f := range found {
		report := p.t.Logf
		if f.Impact == "serious" || f.Impact == "critical" {
			report = p.t.Errorf
		}
		report("axe on %s: %s: %s (%s)\n\t%s", p.Address(), f.Impact, f.Help, f.ID, strings.Join(f.Nodes, "\n\t"))
	}
}

// axeScript returns the path of axe-core, or empty.
func axeScript() string {
	if named := os.Getenv("AXE_CORE"); named != "" {
		return named
	}
	roots := filepath.SplitList(os.Getenv("NODE_PATH"))
	if out, err := exec.Command("npm", "root", "-g").Output(); err == nil {
		roots = append(roots, strings.TrimSpace(string(out)))
	}
	for _, root := range roots {
		script := filepath.Join(root, "axe-core", "axe.min.js")
		if _, err := os.Stat(script); err == nil {
			return script
		}
	}
	return ""
}
