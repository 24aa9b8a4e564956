// Package projectport declares what projects need: the catalogue (projects, workflows, actions, rules, templates, executions), the projects' directories,
// git, webhooks and a shell parser. The comments of each method are its contract; internal/testkit/cataloguetest runs that of the
// catalogue against every adapter, and the other adapters' tests hold them to theirs.
//
// Its API may change at any time.
package projectport

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/shellcmd"
	"github.com/countersign-dev/countersign/domain/project/tasks"
	"github.com/countersign-dev/countersign/domain/project/webhook"
)

// Projects keeps the registered projects. Callers own the copies they get.
type Projects interface {
	// List is every project by name, whatever the case, then by path.
	List(ctx context.Context) ([]project.Project, error)
	// Find is the project with that ID, or project.ErrNotFound.
	Find(ctx context.Context, id project.ID) (project.Project, error)
	// Create stores a new project. A path that is registered already is project.ErrConflict, naming the project.
	Create(ctx context.Context, p project.Project) error
	// Update runs change on the project and stores what it leaves as the next revision, unless change fails; one at a time.
	Update(ctx context.Context, id project.ID, change func(*project.Project) error) (project.Project, error)
	// Delete forgets the project and its actions; its workflows stay, of no project. It is project.ErrNotFound when there is none.
	Delete(ctx context.Context, id project.ID) error
}

// Workflows keeps workflows. Writing one leaves every other as it is, to the byte.
type Workflows interface {
	// List is every workflow, or those of a project, the last updated first.
	List(ctx context.Context, of project.ID) ([]project.Workflow, error)
	// Find is the workflow with that ID, or project.ErrWorkflowNotFound.
	Find(ctx context.Context, id string) (project.Workflow, error)
	// Create stores a new one. A project that does not exist is project.ErrNotFound.
	Create(ctx context.Context, w project.Workflow) error
	// Update runs change on the workflow and stores what it leaves, unless change fails; one at a time. Revision is change's business.
	Update(ctx context.Context, id string, change func(*project.Workflow) error) (project.Workflow, error)
	// Delete forgets the workflow; its executions stay.
	Delete(ctx context.Context, id string) error
}

// Actions keeps stored actions.
type Actions interface {
	// List is every action, or those of a project and of none, the last updated first.
	List(ctx context.Context, of project.ID) ([]webhook.Action, error)
	// Find is the action with that ID, or project.ErrActionNotFound.
	Find(ctx context.Context, id string) (webhook.Action, error)
	// Create stores a new one. A project that does not exist is project.ErrNotFound.
	Create(ctx context.Context, a webhook.Action) error
	// Update runs change on the action and stores what it leaves as the next revision, unless change fails; one at a time.
	Update(ctx context.Context, id string, change func(*webhook.Action) error) (webhook.Action, error)
	// Delete forgets the action and its rules; its executions stay.
	Delete(ctx context.Context, id string) error
}

// Rules keeps the rules that the user set for actions.
type Rules interface {
	// List returns every rule, sorted by webhook.SortActionRules.
	List(ctx context.Context) ([]webhook.ActionRule, error)
	// Put stores a rule in place of the one for the same action, type, or all. An action that does not exist is project.ErrActionNotFound.
	Put(ctx context.Context, r webhook.ActionRule) error
	// Delete forgets the rule for exactly that action, type, or all, and reports whether there was one.
	Delete(ctx context.Context, actionID string, kind project.Kind) (bool, error)
}

// Templates keeps the user's own step templates.
type Templates interface {
	// List is every custom template, by name.
	List(ctx context.Context) ([]shellcmd.Template, error)
	// Create stores a new one.
	Create(ctx context.Context, t shellcmd.Template) error
	// Delete forgets one, or fails with project.ErrTemplateNotFound.
	Delete(ctx context.Context, id string) error
}

// Executions keeps the executions of projects.
type Executions interface {
	// Find is the execution with that ID, or project.ErrExecutionNotFound.
	Find(ctx context.Context, id string) (project.Execution, error)
	// List is executions without output and steps, the last started first, and how many match in all.
	List(ctx context.Context, f project.ExecutionFilter) (page []project.Execution, total int, err error)
	// Create stores a new one.
	Create(ctx context.Context, e project.Execution) error
	// Update runs change on the execution and stores what it leaves, unless change fails; one at a time.
	Update(ctx context.Context, id string, change func(*project.Execution) error) (project.Execution, error)
	// Prune deletes final executions: of the workflow beyond its newest keep (if workflowID is not empty), of all beyond the newest project.MaxRows, and those
	// that ended before the given time.
	Prune(ctx context.Context, workflowID string, keep int, before time.Time) error
}

// Directories knows the directories of this machine (packageflow-security contract §4.1).
type Directories interface {
	// Resolve returns the real path, with symbolic links resolved, and the innermost of the roots that it is in. A path in none of them, one that does not
	// exist and one that is not a directory are all project.ErrPath with the same message.
	Resolve(ctx context.Context, path string, roots []string) (dir string, root string, err error)
	// Planned is Resolve for a directory that need not exist yet; the missing part must be plain names.
	Planned(ctx context.Context, path string, roots []string) (dir string, root string, err error)
	// Register returns the real path of a directory to register. It fails with project.ErrRegistration for /, the home directory, system directories,
	// Countersign's own directories, and their ancestors.
	Register(ctx context.Context, path string) (dir string, err error)
	// Facts returns what the directory tells about the project. It fails with project.ErrManifest as project.DetectFacts does, with the facts filled in.
	Facts(ctx context.Context, dir string) (project.Facts, error)
	// Surroundings returns what a process started in that directory would find on this machine.
	Surroundings(ctx context.Context, dir string) (Surroundings, error)
	// Tasks returns what a directory with these facts can run, as its files say. Nothing is started, and nothing outside of it is read.
	Tasks(ctx context.Context, dir string, facts project.Facts) (tasks.List, error)
	// Workspace returns the workspace whose top is that directory, which has these facts; one without members when it is none. Nothing is started.
	Workspace(ctx context.Context, dir string, facts project.Facts) (tasks.Workspace, error)
	// Fingerprint returns a word for the names and contents of all files below dir that one of the patterns names (tasks.Fits); links are not followed, and what lies in .git, or in
	// node_modules that no pattern spells out, is never named. It is empty when there is no such file. It fails with project.ErrArgument for more files, or larger ones, than can be looked at in a moment.
	Fingerprint(ctx context.Context, dir string, patterns []string) (string, error)
	// Services returns the services of a file in dir, as they stand there: a Procfile, or YAML. An empty name is the first of services.yaml, services.yml, Procfile.dev and Procfile
	// that there is. It returns the name of the file, and fails with project.ErrArgument when there is none, or when it cannot be read.
	Services(ctx context.Context, dir, file string) (all []project.Service, name string, err error)
	// Program returns the path of the program that a process in the directory would start: from the PATH, but never one inside the project at root;
	// or, for a name that begins with "./", the executable file of that name in dir. It fails with project.ErrExecutionFailed if there is none.
	Program(ctx context.Context, root, dir, name string) (string, error)
}

// Surroundings is the environment of a process in a project: tools, settings and secrets.
type Surroundings struct {
	Tools    shellcmd.Toolchain
	Environ  []string // of this process, "NAME=value"
	Paths    []string // directories of toolchains, for PATH
	Home     string
	Own      []string                 // directories that hold Countersign's and agents' own files
	Settings []project.ManagerSetting // of the directory's own files, as far as they decide what package managers run
	Secrets  []string                 // values of secret-named variables in the directory's .env files, to be masked
}
