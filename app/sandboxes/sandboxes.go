package sandboxes

import (
	"slices"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

// Name is the toolset's name.
const Name = "sandboxes"

// Contract is the contract of these tools.
const Contract tool.Contract = "opencode.v1"

// Capability returns the toolset.
func Capability(d Deps) tool.Capability {
	return tool.Capability{Name: Name, Contract: Contract, Mode: policy.Execute,
		Entries: slices.Concat(ProjectEntries(d), ProjectUserOnlyEntries(d), SandboxEntries(d), WorkEntries(d), UserOnlyEntries(d), GatewayEntries(d), AdminEntries(d))}
}
