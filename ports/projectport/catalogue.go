package projectport

// Catalogue is the six ports of one store: what happens to a project happens to what belongs to it. A function handed to an Update must not
// write to the same catalogue: it would wait for itself until its context ends.
type Catalogue struct {
	Projects   Projects
	Workflows  Workflows
	Actions    Actions
	Rules      Rules
	Templates  Templates
	Executions Executions
}
