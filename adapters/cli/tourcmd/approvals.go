package tourcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// agent is the client and the session of the tour's agent.
const agent = "tour-agent"

// scratch is the temporary directories of a tour.
type scratch struct {
	root    string
	user    string // stands for the user's home directory
	project string // what the agent works on
	config  string // the config repository with the agent's instructions
}

// The files of the scratch project and its config repository.
const (
	instructions = "# Instructions for agents\n\nRun `npm test` before you say that something works.\n"
	manifest     = `version: 1
profiles:
  default:
    include_tags: [base]
targets:
  codex:
    mode: files
    scope: project
    options: {}
modules:
  - id: instructions:base
    type: instructions
    enabled: true
    tags: [base]
    targets: []
    source:
      local_path:
        path: modules/instructions/base
`
	harmless = "echo 3 tests passed"
	changed  = "echo 3 tests passed && echo and something else ran, too"
)

// newScratch creates the scratch project and its config repository below root.
func newScratch(root string) (scratch, error) {
	s := scratch{root: root, user: filepath.Join(root, "user"), project: filepath.Join(root, "shop"), config: filepath.Join(root, "config")}
	module := filepath.Join(s.config, "modules", "instructions", "base")
	err := errors.Join(os.MkdirAll(s.user, 0o700), os.MkdirAll(s.project, 0o700), os.MkdirAll(module, 0o700), s.writeScript(harmless),
		os.WriteFile(filepath.Join(s.config, "agentpack.yaml"), []byte(manifest), 0o600),
		os.WriteFile(filepath.Join(module, "AGENTS.md"), []byte(instructions), 0o600))
	return s, err
}

// writeScript sets what npm test runs in the scratch project.
func (s scratch) writeScript(command string) error {
	doc, err := json.MarshalIndent(map[string]any{"name": "shop", "version": "1.0.0", "scripts": map[string]string{"test": command}}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.project, "package.json"), append(doc, '\n'), 0o600)
}

// approvals is the first three parts of the tour.
func (t *trip) approvals(ctx context.Context) error {
	t.Step("\n1. An agent proposes to write instructions into your project")
	repo := t.scratch.config
	offer := t.agentCalls(ctx, "deploy", args{"repo": repo}, confirm.Token{})
	if offer.Err != nil || offer.Request == nil {
		return ErrUneven.WithMessage("deploy made no plan").WithCause(offer.Err)
	}
	deployed, err := t.proposes(ctx, request{"deploy_apply", args{"repo": repo, "yes": true}, offer.Request.Token}, nil)
	if err != nil {
		return err
	}
	if deployed.ran {
		t.Note("   AGENTS.md is in the project now; exactly the approved plan was applied.")
	}

	t.Step("\n2. It proposes to run a script, and the script changes while you read")
	if err := t.script(ctx); err != nil {
		return err
	}

	t.Step("\n3. Roll back the deployment")
	if !deployed.ran {
		t.Note("   You denied the deployment, so there is nothing to roll back.")
		return nil
	}
	back, err := t.proposes(ctx, request{tool: "rollback", args: args{"repo": repo, "to": "initial", "yes": true}}, nil)
	if err != nil {
		return err
	}
	switch _, err := os.Lstat(filepath.Join(t.scratch.project, "AGENTS.md")); {
	case back.ran && errors.Is(err, os.ErrNotExist):
		t.Note("   AGENTS.md is removed; the project is in its state before the first deployment.")
	case back.ran:
		return ErrUneven.WithMessage("a rollback left AGENTS.md in the scratch project")
	}
	return nil
}

// script has the agent run npm test, changes what it runs before the answer counts, and has it run the new plan.
func (t *trip) script(ctx context.Context) error {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Note("   This part needs npm, which is not installed; the tour skips it.")
		return nil
	}
	a, err := t.App()
	if err != nil {
		return err
	}
	if o := t.answered(ctx, a, tool.Call{Tool: "project_add", Session: command.Session, Client: t.Client, FromUser: true}, args{"path": t.scratch.project}); o.Err != nil {
		return o.Err
	}
	run := request{tool: "run_script", args: args{"project_path": t.scratch.project, "script_name": "test"}}
	first, err := t.proposes(ctx, run, func() error {
		t.Note("   (now the tour changes the script npm test in package.json)")
		return t.scratch.writeScript(changed)
	})
	switch {
	case err != nil:
		return err
	case first.ran:
		return ErrUneven.WithMessage("a script ran without approval")
	case !first.approved:
		return nil
	}
	t.Note("   You approved another plan, so nothing ran. The agent must ask again:")
	second, err := t.proposes(ctx, run, nil)
	if err != nil || !second.ran {
		return err
	}
	var answer struct {
		Stdout string `json:"stdout"`
	}
	if err := command.DecodeAnswer(second.outcome, &answer); err != nil {
		return err
	}
	for line := range strings.Lines(strings.TrimSpace(answer.Stdout)) {
		t.Note("   | %s", command.Plain(strings.TrimRight(line, "\n")))
	}
	return nil
}

// proposal is what became of a call of the agent.
type proposal struct {
	approved bool
	ran      bool
	outcome  tool.Outcome // of the approved call
}

// request is a call that the agent wants to make.
type request struct {
	tool  tool.Name
	args  args
	token confirm.Token // of the plan that deploy made; zero for tools that make theirs themselves
}

// proposes has the agent make a call, shows the plan, takes the user's answer, and has the agent repeat the call. meanwhile, if not nil, happens between the plan and
// the answer. That the plan has changed is shown, and is no error.
func (t *trip) proposes(ctx context.Context, r request, meanwhile func() error) (proposal, error) {
	o := t.agentCalls(ctx, r.tool, r.args, r.token)
	if o.Request == nil || !o.Request.Pending {
		return proposal{}, ErrUneven.WithMessage("no approval request for %s", r.tool).WithCause(o.Err)
	}
	said, err := t.decide(ctx, *o.Request)
	if err != nil {
		return proposal{}, err
	}
	if said.Approve && meanwhile != nil {
		if err := meanwhile(); err != nil {
			return proposal{}, ErrNothing.WithMessage("cannot write the scratch project: %v", err)
		}
	}
	core, err := t.App()
	if err != nil {
		return proposal{}, err
	}
	_, err = core.Answer(ctx, said)
	if err == nil && said.Approve {
		o = t.agentCalls(ctx, r.tool, r.args, r.token)
		err = o.Err
	}
	switch {
	case !said.Approve && err != nil:
		return proposal{}, err
	case !said.Approve:
		t.Note("   Denied: nothing was changed, and the agent receives the denial.")
		return proposal{}, nil
	case app.IsPlanChanged(err):
		stale, _ := fault.From(err).Details.(app.PlanChange)
		t.Note("   denied: the plan changed since you saw it:")
		command.DifferenceLines(stale.Differences, func(line string, _ command.Tint) { t.Note("     %s", line) })
		return proposal{approved: true}, nil
	case err != nil:
		return proposal{}, err
	}
	return proposal{approved: true, ran: true, outcome: o}, nil
}

// decide shows the plan of a request, and returns the user's answer; with auto, the tour's.
func (t *trip) decide(ctx context.Context, asked tool.ApprovalRequest) (confirm.Decision, error) {
	v := command.ApprovalView(asked)
	v.Client = agent
	if !t.auto {
		return t.Decide(ctx, v, command.DecisionOptions{})
	}
	t.Preview(v)
	t.Step("Approve? [y/N] y (the tour decides, only in its temporary store)")
	return t.yes(asked), nil
}

// yes is the tour's own approval of a request.
func (t *trip) yes(asked tool.ApprovalRequest) confirm.Decision {
	said := confirm.Decision{ID: asked.ID, Approve: true, Shown: asked.PlanHash, By: "the tour",
		Proof: confirm.Proof{Surface: confirm.SurfaceTerminal, User: "the tour", TTY: "none", Host: "none"}}
	if asked.Target != "" {
		said.Typed = asked.Target
	}
	return said
}

// agentCalls makes a call as an agent would: in a session of its own, without a person.
func (t *trip) agentCalls(ctx context.Context, name tool.Name, a args, token confirm.Token) tool.Outcome {
	core, raw, err := t.encoded(a)
	if err != nil {
		return tool.Outcome{Err: err}
	}
	return core.App.Call(ctx, tool.Call{Tool: name, Session: agent, Client: agent, Principal: core.Principal, Args: raw, Token: token})
}

// answered makes a call of the tour's own set-up, and answers its request.
func (t *trip) answered(ctx context.Context, a *app.App, c tool.Call, with args) tool.Outcome {
	core, raw, err := t.encoded(with)
	if err != nil {
		return tool.Outcome{Err: err}
	}
	c.Principal, c.Args = core.Principal, raw
	o := a.Call(ctx, c)
	if o.Request != nil && o.Request.Pending {
		said := t.yes(*o.Request)
		c.Decision = &said
		o = a.Call(ctx, c)
	}
	return o
}

func (t *trip) encoded(a args) (command.Core, json.RawMessage, error) {
	core, err := t.Opened()
	if err != nil {
		return core, nil, err
	}
	raw, err := tool.Encode(a)
	if err != nil {
		return core, nil, fmt.Errorf("encoding the arguments of the tour: %w", err)
	}
	return core, raw, nil
}
