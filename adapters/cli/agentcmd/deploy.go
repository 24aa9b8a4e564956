package agentcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/deployments"
	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

func (g group) deploy() *cobra.Command {
	var apply, adopt, leave bool
	var all *bool
	c := g.Command("deploy", "Plan a deployment; --apply applies it", func(cmd *cobra.Command, _ []string) error {
		switch {
		case leave && adopt:
			return g.Misused(cmd, "--leave-edited contradicts --adopt")
		case leave:
			return g.deployUnedited(cmd, apply, *all)
		case !apply || g.DryRun():
			return g.rehearse(cmd, apply, *all)
		case g.JSON:
			return g.deployJSON(cmd, adopt)
		}
		return g.deployShown(cmd, adopt, *all)
	})
	c.Flags().BoolVar(&apply, "apply", false, "apply the plan after you approve it")
	c.Flags().BoolVar(&adopt, "adopt", false, "overwrite unmanaged and modified files")
	c.Flags().BoolVar(&leave, "leave-edited", false, "skip the files that --adopt would overwrite, and deploy the rest")
	all = listAll(c)
	return g.Scoped(c)
}

// deployUnedited deploys what is nobody's own work, and says what it leaves alone.
func (g group) deployUnedited(cmd *cobra.Command, apply, all bool) error {
	g.flags.dryRun = g.flags.dryRun || !apply
	_, err := g.Alter(cmd, change{Tool: "agents_deploy_unedited", Draw: func(data json.RawMessage, done bool) error {
		p, err := DecodeData[present.Plan](data)
		switch {
		case err != nil:
			return err
		case done:
			return g.Screen().Deployed(data)
		}
		g.Screen().Directories(p, g.Project())
		g.Screen().Changes(p, all)
		g.Screen().Findings(p.Findings)
		g.Screen().Total(p)
		return nil
	}, Idle: HasReason("no_changes")})
	return err
}

// after is what to run once a plan was looked at: never what would overwrite somebody's work.
func after(p present.Plan) string {
	switch own := p.Adoptions(); {
	case len(own) == 0:
		return "countersign agents deploy --apply"
	case slices.ContainsFunc(own, func(c present.Change) bool { return c.UpdateKind != "adopt_update" }):
		return "countersign agents evolve propose"
	}
	return "countersign agents preview --diff"
}

// again is a command of the group with the flags that say which plan this is about.
func (g Runner) again(words string) string {
	flag := func(name, value string) string {
		if value == "" {
			return ""
		}
		return " --" + name + " " + value
	}
	f := g.flags
	words = "countersign agents" + flag("repo", f.repo) + flag("profile", f.profile) + flag("target", f.target) + flag("machine", f.machine) +
		flag("project-root", f.project) + strings.TrimPrefix(words, "countersign agents")
	if !strings.Contains(words, " evolve ") {
		words += flag("scope", f.scope)
	}
	return words
}

// warned shows the warnings of a successful answer, and returns them.
func (g group) warned(o tool.Outcome) []string {
	var report struct {
		Warnings []string `json:"warnings"`
	}
	_ = json.Unmarshal(o.Value, &report) // what shows the answer says so when it is not understood
	g.Screen().Warnings(report.Warnings)
	return report.Warnings
}

// applying are the arguments of deploy_apply.
func applying(yes, adopt bool) command.Arguments {
	return command.Arguments{"yes": yes, "adopt": adopt}
}

// rehearse shows a deployment that nobody means to carry out: no token is given out for it.
func (g group) rehearse(cmd *cobra.Command, apply, all bool) error {
	ctx := cmd.Context()
	try := g.Try
	if !all && !g.JSON {
		try = g.TryGlance
	}
	o, err := try(ctx, "deploy_apply", nil)
	if !apply {
		o.Spec.Name = "deploy"
	}
	if err != nil {
		return g.Failed(cmd, o, err)
	}
	return g.Tell(cmd, o, func(data json.RawMessage) error {
		p, err := DecodeData[present.Plan](data)
		if err != nil {
			return err
		}
		if err := g.present(ctx, p, nil, all); err != nil {
			return err
		}
		if apply {
			g.Unchanged()
		} else if !p.Summary.Empty() {
			g.Screen().Next([]string{g.again(after(p))})
			if len(p.Adoptions()) > 0 {
				g.Note("deploy --apply --leave-edited skips them and deploys the rest")
				g.Note("deploy --apply --adopt overwrites them and keeps the former content in a snapshot")
			}
		}
		return nil
	})
}

// deployJSON is deploy --apply for programs: yes is --yes, and the token is that of the plan a moment before.
func (g group) deployJSON(cmd *cobra.Command, adopt bool) error {
	ctx, token := cmd.Context(), confirm.Token{}
	var asked *tool.ApprovalRequest
	yes := g.Yes || g.PeopleApprove(ctx)
	if yes {
		g.held = new(tool.Held)
		o, err := g.Glance(ctx, "deploy", nil) // only the token is wanted
		if mustAdopt(err) {                    // more than it lists
			o, err = g.Query(ctx, "deploy", nil)
		}
		if err != nil {
			o.Spec.Name = "deploy_apply"
			return g.Failed(cmd, o, err)
		}
		if asked = o.Request; asked != nil {
			token = asked.Token
		}
	}
	o, err := g.redeem(ctx, token, applying(yes, adopt), maxOutput)
	if err != nil {
		if !token.IsZero() {
			g.withdraw(ctx, asked)
		}
		return g.Failed(cmd, o, err)
	}
	return g.Tell(cmd, o, nil)
}

// mustAdopt says whether a deployment was refused because it would overwrite or delete what somebody else wrote.
func mustAdopt(err error) bool {
	f := fault.From(err)
	return f != nil && f.Code == "deployment_adopt_required"
}

// redeem applies the plan that the token was given for. Under approval by users only there is none, and the shell asks.
func (g group) redeem(ctx context.Context, token confirm.Token, args command.Arguments, most int) (tool.Outcome, error) {
	c, err := g.Prepare("deploy_apply", args)
	if err != nil {
		return tool.Outcome{}, err
	}
	c.Token, c.MaxOutput = token, most
	return g.Send(ctx, c)
}

// deployShown is deploy --apply for people: the plan with its diffs, one question, and then that very plan. Of a long plan about a page is shown, with
// the way to see the rest; where people approve, the question shows all of it.
func (g group) deployShown(cmd *cobra.Command, adopt, all bool) error {
	ctx := cmd.Context()
	if g.Yes || g.PeopleApprove(ctx) { // no question comes between the plan and its application
		g.held = new(tool.Held)
	}
	most, query := pageOutput, g.Glance
	if all || g.PeopleApprove(ctx) {
		most, query = maxOutput, g.Query
	}
	o, err := query(ctx, "deploy", nil)
	if mustAdopt(err) && most < maxOutput { // more than a page of what somebody wrote
		o, err = g.Query(ctx, "deploy", nil)
	}
	if err != nil {
		o.Spec.Name = "deploy_apply"
		return g.Failed(cmd, o, err)
	}
	p, err := DecodeData[present.Plan](dataOf(o))
	var warnings []string
	if err == nil {
		warnings = g.warned(o)
		err = g.present(ctx, p, o.Request, all)
	}
	if err != nil {
		g.withdraw(ctx, o.Request)
		return g.Broken(cmd, tool.Outcome{}, err)
	}
	if o.Request != nil && o.Request.Names { // people approve: the call that presents the token asks
		g.Shown = g.Drawn() && (all || p.Len() <= manyChanges)
		done, err := g.redeem(ctx, o.Request.Token, applying(true, adopt), maxOutput)
		if err != nil && done.Request != nil { // nobody has approved it
			return g.Broken(cmd, done, err)
		}
		if err != nil {
			return g.Failed(cmd, done, err)
		}
		return g.Tell(cmd, done, g.Screen().Deployed, warnings...)
	}
	yes, err := g.agreed(ctx, p, adopt)
	switch {
	case err != nil:
		g.withdraw(ctx, o.Request)
		return g.Broken(cmd, tool.Outcome{}, err)
	case !yes && g.Interactive():
		g.withdraw(ctx, o.Request)
		g.Line("nothing was changed")
		return nil
	}
	token := confirm.Token{}
	if o.Request != nil {
		token = o.Request.Token
	}
	done, err := g.redeem(ctx, token, applying(yes, adopt), most)
	if err != nil {
		if !token.IsZero() {
			g.withdraw(ctx, o.Request)
		}
		return g.Failed(cmd, done, err)
	}
	return g.Tell(cmd, done, g.Screen().Deployed, warnings...)
}

// agreed reports whether what was shown is to be carried out. Nobody is asked about what changes nothing, nor about what the tool is
// going to refuse because adopt is missing. Where only people approve, the person who said yes has answered the confirmation, too.
func (g group) agreed(ctx context.Context, p present.Plan, adopt bool) (bool, error) {
	refused := !adopt && slices.ContainsFunc(p.Changes, present.Change.Adopts)
	switch {
	case g.Yes || refused:
		return true, nil
	case !g.Interactive():
		return false, nil
	case p.Summary.Empty():
		return true, nil
	}
	yes, err := g.YesNo(ctx, question)
	g.Yes = yes
	return yes, err
}

// withdraw has nobody carry out what was asked about here and not wanted.
func (g group) withdraw(ctx context.Context, asked *tool.ApprovalRequest) {
	if asked == nil {
		return
	}
	if a, err := g.App(); err == nil {
		_ = a.CancelApproval(context.WithoutCancel(ctx), asked.ID) // what cannot be withdrawn expires
	}
}

// present shows a plan with its diffs, and the summary last, where it stands beside the question. Of a long plan it shows no diffs of new files, unless all
// are asked for.
func (g group) present(ctx context.Context, p present.Plan, asked *tool.ApprovalRequest, all bool) error {
	screen := g.Screen()
	screen.Directories(p, g.Project())
	screen.Changes(p, all)
	if !p.Summary.Empty() {
		files, left, err := g.lines(ctx, p, asked, all)
		if err != nil {
			return err
		}
		if err := screen.diffs(ctx, files, true); err != nil {
			return err
		}
		if left {
			g.Note("countersign agents preview --diff shows every line")
		}
		screen.Adoptions(p)
		screen.Findings(p.Findings)
	}
	screen.Total(p)
	return nil
}

// pageLines is how many lines of diffs are shown of a long plan.
const pageLines = 60

// lines are the diffs that are shown with a plan, and whether there are more. They are those that were worked out for whoever confirms, where that is all
// of them.
func (g group) lines(ctx context.Context, p present.Plan, asked *tool.ApprovalRequest, all bool) (files []deployments.FileDiff, left bool, err error) {
	var exhibit struct {
		Files    []deployments.FileDiff `json:"files"`
		Warnings []string               `json:"warnings"`
	}
	if asked != nil && len(asked.Exhibit) > 0 && json.Unmarshal(asked.Exhibit, &exhibit) != nil {
		return nil, false, fault.ErrInternal.WithMessage("invalid diffs")
	}
	long := p.Len() > manyChanges
	switch {
	case all || !long && (len(exhibit.Warnings) > 0 || len(exhibit.Files) != p.Len()):
		files, err = g.diffs(ctx, p)
		return files, false, err
	case !long:
		return exhibit.Files, false, nil
	}
	room := pageLines
	for _, f := range exhibit.Files {
		if f.Op == "create" || f.Unified == nil {
			continue
		}
		if room -= strings.Count(*f.Unified, "\n") + 1; room < 0 {
			break
		}
		files = append(files, f)
	}
	return files, true, nil
}

// diffs are those of a plan, and of no other.
func (g group) diffs(ctx context.Context, p present.Plan) ([]deployments.FileDiff, error) {
	o, err := g.Query(ctx, "preview", command.Arguments{"diff": true})
	if err != nil {
		return nil, err
	}
	now, err := DecodeData[preview](dataOf(o))
	if err != nil {
		return nil, err
	}
	shown, err := json.Marshal(p.Changes)
	if err != nil {
		return nil, fault.From(err)
	}
	current, err := json.Marshal(now.Plan.Changes)
	if err != nil {
		return nil, fault.From(err)
	}
	if !bytes.Equal(shown, current) {
		return nil, app.ErrPlanStale.WithMessage("files changed between the plan and its diffs; nothing was written; repeat the command")
	}
	return now.Diff.Files, nil
}
