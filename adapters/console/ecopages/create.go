package ecopages

import (
	"net/http"
	"strings"

	"github.com/countersign-dev/countersign/adapters/console/ui"
	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/fault"
)

// Errors of the forms of these pages.
var (
	errForm = fault.New(fault.Invalid, "ecosystem_form_invalid", "cannot read the form; go back and submit it again")
	errLine = fault.New(fault.Invalid, "ecosystem_repo_line_invalid", "invalid repository line; use NAME=URL or NAME=URL#BRANCH, followed by readonly for a read-only repository")
)

// CreateForm returns the form of a new ecosystem.
func (g gate) CreateForm(v httpauth.Identity) ui.Node {
	return ui.PostForm(v, RootPath+"/-/create", ui.Field("new-name", "name", "Name", ""), ui.Field("new-description", "description", "Description (optional)", ""),
		ui.Field("new-provisioner", "provisioner", "Provisioner (optional): local, noop or a directory in provisioners/", ""),
		ui.TextareaField("new-repos", "repos", "Repositories, one per line: NAME=URL or NAME=URL#BRANCH, then readonly for read-only access", ""),
		g.buttons(ui.SubmitButton("Create ecosystem"), "create the ecosystem", "amof_create_ecosystem"))
}

func (k Base) create(w http.ResponseWriter, r *http.Request, v httpauth.Identity) {
	repos, err := reposOf(r.PostFormValue("repos"))
	if err != nil {
		k.Fail(w, v, err)
		return
	}
	name := strings.TrimSpace(r.PostFormValue("name"))
	args := map[string]any{"name": name, "repos": repos}
	for _, f := range []string{"description", "provisioner", "mode"} {
		if member, value := given(f, r.PostForm); value != nil {
			args[member] = value
		}
	}
	k.Calls.Do(w, r, v, ui.Task{Title: "Create " + name, Tool: "amof_create_ecosystem", Args: args, Back: RootPath})
}

// reposOf parses repositories, one per line.
func reposOf(text string) ([]map[string]any, error) {
	repos := []map[string]any{}
	for _, line := range linesOf(text) {
		spec, access, _ := strings.Cut(line, " ")
		name, location, ok := strings.Cut(spec, "=")
		if access = strings.TrimSpace(access); !ok || name == "" || location == "" || access != "" && access != "readonly" {
			return nil, errLine.WithMessage("invalid repository line %q; use NAME=URL or NAME=URL#BRANCH, followed by readonly for a read-only repository", line)
		}
		location, branch, _ := strings.Cut(location, "#")
		repo := map[string]any{"name": name, "url": location}
		if branch != "" {
			repo["branch"] = branch
		}
		if access != "" {
			repo["readonly"] = true
		}
		repos = append(repos, repo)
	}
	return repos, nil
}
