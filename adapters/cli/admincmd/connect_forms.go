package admincmd

import (
	"context"
	"slices"

	"github.com/countersign-dev/countersign/adapters/cli/command"
	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The values of --forms.
const (
	formsOn  = "on"
	formsOff = "off"
)

// setForms stores whether forms of a host entry may approve. Enabling them widens permissions, so the user is asked. Empty wanted leaves them
// unchanged; said has the result printed even without a change. The outcome is set even if the call failed.
func (g connectCommand) setForms(ctx context.Context, host, entry, wanted string, said bool) (tool.Outcome, error) {
	a, err := g.App()
	if err != nil || wanted == "" {
		return tool.Outcome{}, err
	}
	set, err := a.Settings(ctx)
	if err != nil {
		return tool.Outcome{}, err
	}
	stored := slices.Contains(set.Forms, entry)
	counts, err := a.FormsOn(ctx, entry)
	switch {
	case err != nil:
		return tool.Outcome{}, err
	case wanted == formsOn && counts:
		g.remark("its forms are already enabled (host entry %s)", entry)
		return tool.Outcome{}, nil
	case wanted == formsOff && !stored && said:
		g.remark("its forms are not enabled (host entry %s)", entry)
		return tool.Outcome{}, nil
	case wanted == formsOff && !stored:
		return tool.Outcome{}, nil
	}
	_, o, err := g.ChangeSettings(ctx, func(s *app.Settings) error {
		s.Forms = slices.DeleteFunc(s.Forms, func(name string) bool { return name == entry })
		if wanted == formsOn {
			s.Forms = append(s.Forms, entry)
		}
		return nil
	})
	if err != nil {
		return o, err
	}
	if wanted == formsOff {
		g.remark("disabled its forms (host entry %s)", entry)
		return o, nil
	}
	if counts, err = a.FormsOn(ctx, entry); err == nil && !counts {
		g.remark("warning: its forms are not enabled yet: the settings in your account's home directory do not list them; enable them there, too, without COUNTERSIGN_HOME")
		return o, nil
	}
	g.remark("its forms can approve plans below high risk now (host entry %s); any program that runs as you can start that entry and fill them in itself", entry)
	g.remark("to disable them: countersign connect %s --forms=off", host)
	return o, err
}

// narrow disables the forms of a host entry and does nothing else: it only narrows, so no approval is needed.
func (g connectCommand) narrow(ctx context.Context, f *flags) error {
	o, err := g.Call(ctx, mcpclients.ListHosts.Name, f.asked)
	if err != nil {
		return g.Fail(o, err)
	}
	hosts, err := g.hosts(o)
	if err != nil || len(hosts) == 0 {
		return err
	}
	if changed, err := g.setForms(ctx, f.Host, hosts[0].HostEntry, formsOff, true); err != nil {
		return g.Fail(changed, err)
	}
	if g.JSON {
		return g.PrintJSON(map[string]string{"host_entry": hosts[0].HostEntry, "forms": formsOff})
	}
	return nil
}

// remark prints a note for users, and nothing for programs.
func (g connectCommand) remark(format string, entry ...any) {
	if g.JSON {
		return
	}
	for i, name := range entry {
		if text, ok := name.(string); ok {
			entry[i] = command.Plain(text)
		}
	}
	g.Note(format, entry...)
}

// said returns the note on a host's forms after its status: that they may approve, if so.
func (g connectCommand) said(ctx context.Context, h mcpclients.HostStatus) string {
	a, err := g.App()
	if err != nil {
		return ""
	}
	if on, err := a.FormsOn(ctx, h.HostEntry); err != nil || !on {
		return ""
	}
	return "; forms enabled"
}
