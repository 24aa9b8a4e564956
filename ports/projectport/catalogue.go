package projectport

// Catalogue is the six ports of one store, which deletes with a project what belongs to it. A function passed to an Update must not write to the same
// catalogue: it would block until its context ends.
type Catalogue struct {
	Projects   Projects
	Workflows  Workflows
	Actions    Actions
	Rules      Rules
	Templates  Templates
	Executions Executions
}
