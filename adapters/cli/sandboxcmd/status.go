package sandboxcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app/sandboxes"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// view is a project as its status shows it.
type view struct{ sandboxes.ProjectView }

// UnmarshalJSON reads it; one that is not recorded has empty details.
func (v *view) UnmarshalJSON(doc []byte) error {
	err := json.Unmarshal(doc, &v.ProjectView)
	if v.ProjectDetails == nil {
		v.ProjectDetails = &sandboxes.ProjectDetails{}
	}
	return err
}

// Verdict is the failure of a project that is not there.
func (v view) Verdict() error {
	if v.Status == statusNotFound {
		return ErrUnknown.WithMessage("project %s not found", v.URL).WithDetails(command.Hint("to create one: countersign sandbox clone URL"))
	}
	return nil
}

// standing returns how the server is, in a few words.
func (v view) standing() string {
	switch {
	case v.Server.Running && v.Healthy:
		return strings.TrimSpace("running, healthy " + v.Server.Version)
	case v.Server.Running:
		return "running, not responding"
	case v.Server.Error != "":
		return v.Server.Status + ": " + v.Server.Error
	}
	return v.Server.Status
}

func (g group) status() *cobra.Command {
	c := &cobra.Command{Use: "status [URL] [NAME]", Short: "Show projects, a project with its server, or a sandbox", Args: command.Args(0, 2), ValidArgsFunction: g.CompleteSandbox,
		Long: "Show a project with its server's health, gateway and sandboxes. Without URL, show the sandbox of the working directory;\n" +
			"outside a sandbox, show all projects. With NAME, show that sandbox: commits ahead of and behind its base branch, changed files and uncommitted changes.",
		Example: "  countersign sandbox status\n  countersign sandbox status acme-shop\n  countersign sandbox status acme-shop fix-login"}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		boxes := sandboxGroup(g)
		args, err := g.apart(cmd.Context(), args)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			if url, name, err := g.here(cmd.Context()); err == nil {
				return boxes.compared(cmd.Context(), url, name, nil, comparing{stat: true}, boxes.drawStanding)
			}
			return g.statusOfAll(cmd.Context())
		}
		if len(args) == 2 {
			url, name, err := g.Subject(cmd.Context(), args)
			if err != nil {
				return err
			}
			return boxes.compared(cmd.Context(), url, name, nil, comparing{stat: true}, boxes.drawStanding)
		}
		url, err := g.URL(cmd.Context(), args[0])
		if errors.Is(err, ErrUnknown) { // a sandbox of the project one stands in can be named alone
			if here, nowhere := g.URL(cmd.Context(), ""); nowhere == nil {
				return boxes.compared(cmd.Context(), here, args[0], nil, comparing{stat: true}, boxes.drawStanding)
			}
		}
		if err != nil {
			return err
		}
		return command.CallAndShow(cmd.Context(), g.Runner, sandboxes.ProjectStatus.Name, command.Arguments{"git_url": url}, g.drawView)
	}
	return c
}

func (g group) drawView(v view) {
	if v.Status == statusNotFound {
		return
	}
	g.Pairs(command.Pair{Name: "project", Value: v.Project}, command.Pair{Name: "url", Value: v.URL}, command.Pair{Name: "server", Value: v.standing()},
		command.Pair{Name: "at", Value: known(v.Server.URL)}, command.Pair{Name: "pid", Value: number(known(v.Server.PID))}, command.Pair{Name: "gateway", Value: gatewayWords(v.Gateway)},
		command.Pair{Name: "directory", Value: v.BaseDir}, command.Pair{Name: "sandboxes", Value: strings.Join(v.Worktrees, ", ")},
		command.Pair{Name: "created", Value: command.Age(v.CreatedAt)}, command.Pair{Name: "log", Value: v.Log})
	for _, s := range v.Servers {
		words := s.Status
		switch {
		case s.Running:
			words = fmt.Sprintf("running at %s, pid %d", known(s.URL), known(s.PID))
		case s.Error != "":
			words += ": " + s.Error
		}
		g.Pairs(command.Pair{Name: "server of " + s.Sandbox, Value: words + ", isolated by " + s.Isolation})
	}
	if len(v.Isolated) > 0 {
		g.Note("the project's server is not isolated: programs that it starts have all your permissions. Isolated sandboxes (%s) have separate servers", command.Plain(strings.Join(v.Isolated, ", ")))
	}
	if v.Exposed {
		g.Note("warning: %s", exposure)
	}
}

// looked is what came of looking at one project.
type looked struct {
	view view
	doc  json.RawMessage
	err  error
}

// statusOfAll asks after all projects at once: a server that hangs holds nobody else up.
func (g group) statusOfAll(ctx context.Context) error {
	all, err := g.Projects(ctx)
	if err != nil {
		return err
	}
	found, err := g.lookAt(ctx, all)
	if err != nil {
		return err
	}
	if g.JSON {
		return g.showAll(found)
	}
	if len(all) == 0 {
		g.Note("%s", noProjects)
		return nil
	}
	var rows [][]string
	for i, f := range found {
		if f.err != nil {
			rows = append(rows, []string{all[i].Name, "unknown: " + fault.From(f.err).Message, "", "", all[i].URL})
			continue
		}
		rows = append(rows, []string{all[i].Name, f.view.standing(), known(f.view.Server.URL), strconv.Itoa(len(f.view.Worktrees)), all[i].URL})
	}
	g.Table([]string{"project", "server", "at", "sandboxes", "url"}, rows)
	return nil
}

// atOnce bounds how many projects are looked at side by side; most of that time is waiting for servers.
const atOnce = 32

func (g group) lookAt(ctx context.Context, all []sandboxes.ProjectItem) ([]looked, error) {
	core, err := g.Opened()
	if err != nil {
		return nil, err
	}
	found := make([]looked, len(all))
	var looking errgroup.Group
	looking.SetLimit(atOnce)
	for i, p := range all {
		looking.Go(func() error {
			args, err := tool.Encode(command.Arguments{"git_url": p.URL})
			if err != nil {
				found[i].err = err
				return nil
			}
			o := core.App.Call(ctx, tool.Call{Tool: sandboxes.ProjectStatus.Name, Args: args, Session: command.Session, Client: g.Client, Principal: core.Principal, FromUser: true})
			if found[i].err = o.Err; o.Err == nil {
				found[i].doc, found[i].err = o.Value, command.DecodeAnswer(o, &found[i].view)
			}
			return nil
		})
	}
	return found, looking.Wait()
}

// showAll prints the answers about all projects as one object.
func (g group) showAll(found []looked) error {
	type failed struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}
	out := struct {
		Status   string            `json:"status"`
		Projects []json.RawMessage `json:"projects"`
	}{"ok", []json.RawMessage{}}
	for _, f := range found {
		if f.err != nil {
			doc, err := tool.Encode(failed{"error", fault.From(f.err).Message})
			if err != nil {
				return fault.From(err)
			}
			f.doc = doc
		}
		out.Projects = append(out.Projects, f.doc)
	}
	return g.PrintJSON(out)
}
