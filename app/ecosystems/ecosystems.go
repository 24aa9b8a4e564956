package ecosystems

import (
	"slices"

	"github.com/countersign-dev/countersign/app/ecosystems/commands"
	"github.com/countersign-dev/countersign/app/ecosystems/environment"
	"github.com/countersign-dev/countersign/app/ecosystems/push"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/app/ecosystems/workspace"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Name is the toolset's name.
const Name = "ecosystems"

// Contract is the contract of these tools.
const Contract tool.Contract = "amof.v1"

// Deps is what the tools work with, part by part.
type Deps struct {
	Basis      runs.Deps
	Browsing   InfoDeps
	Installing workspace.InstallDeps
	Ticketing  workspace.TicketDeps
	Shipping   push.Deps
	Spinning   environment.Deps
	Releasing  releases.Deps
	Commanding commands.Deps
	Running    runs.QueueDeps
	Control    []tool.Entry // the control tools under the amof contract's names
}

// Capability returns the toolset.
func Capability(d Deps) tool.Capability {
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Ask, UsesWorkingDir: true, Entries: slices.Concat(d.Control, InfoEntries(d.Browsing), workspace.InstallEntries(d.Installing),
		workspace.TicketEntries(d.Ticketing), push.Entries(d.Shipping), environment.Entries(d.Spinning), releases.Entries(d.Releasing), commands.Entries(d.Commanding), runs.Entries(d.Running),
		[]tool.Entry{policyEntry(d.Basis)})}
}

// Performers carry out the runs of these tools.
func Performers(d Deps) []runs.Performer {
	return slices.Concat(workspace.Performers(d.Installing), push.Performers(d.Shipping), environment.Performers(d.Spinning), releases.Performers(d.Releasing), commands.Performers(d.Commanding))
}
