package local

import (
	"cmp"
	"context"

	"github.com/countersign-dev/countersign/adapters/deployfile"
	"github.com/countersign-dev/countersign/adapters/deployfile/configrepo"
	"github.com/countersign-dev/countersign/adapters/deployfile/observe"
	"github.com/countersign-dev/countersign/adapters/docedit"
	"github.com/countersign-dev/countersign/app/deployments/mcpclients"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// ConnectToolsOptions is what the tools work with.
type ConnectToolsOptions struct {
	Home      string // Countersign's own directory
	Dir       string // stands for the working directory; the project is looked for from here
	Env       func(string) string
	Clock     ports.Clock
	Audit     ports.AuditLog // nil: an interrupted connection counts as our own
	Admission Admission      // nil: no host is connected over HTTP
	Default   []string       // the toolsets that are served by themselves
	Policy    func(ctx context.Context) (policy.Resolved, error)
	// Gateway is that of mcpclients.Deps.
	Gateway func(ctx context.Context, sandbox string) (mcpclients.GatewayAccess, error)
}

// ConnectTools returns the tools that connect hosts. It opens nothing.
func ConnectTools(p ConnectToolsOptions) []tool.Entry {
	here := NewSurroundings(p.Home, p.Env)
	options := deployfile.Options{Index: observe.OpenIndex(""), Clock: p.Clock, Env: durable}
	if p.Audit != nil {
		options.Operations = journals{p.Audit, p.Clock}
	}
	machine := deployfile.NewMachine(options)
	d := mcpclients.Deps{Places: configrepo.NewPlaces(p.Env, p.Dir), Machine: machine, Recovery: machine, Documents: docedit.Documents{}, Differ: docedit.Differ{},
		Clock: p.Clock, Here: here, Gateway: p.Gateway, Default: p.Default, Rules: func(ctx context.Context) (mcpclients.PolicyInfo, error) {
			now, err := p.Policy(ctx)
			rules := mcpclients.PolicyInfo{ByCaller: now.Approval.ByCaller(), By: cmp.Or(now.By["approval"], policy.BuiltIn)}
			for _, needs := range now.Require {
				rules.Needs = max(rules.Needs, needs)
			}
			return rules, err
		}}
	if p.Admission != nil {
		d.Keys = HostTokens{p.Admission}
	}
	return mcpclients.Entries(d)
}

// durable makes files of hosts survive a crash of the machine: they are few, and must not be lost.
func durable(name string) string {
	if name == "AGENTPACK_FSYNC" {
		return "1"
	}
	return ""
}
