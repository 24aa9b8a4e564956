// Package memstore implements the storage ports in memory. It is the reference implementation of the ports' contracts, and what tests of
// use cases stand on.
//
// Nothing outlives the process. What is taken in and handed out are copies, so nobody can reach into the store; the catalogue of projects
// keeps values as the JSON they are written as, so a value that could not be stored elsewhere cannot be stored here. A function handed to
// Change must not call the same store: it would wait for itself.
//
//   - store.go: Store, which is a ports.ApprovalStore (ledger.go), a ports.AuditLog (audit.go) and a ports.SettingsStore (settings.go);
//     sessions.go, runs.go, credentials.go, keys.go and dated.go have the other stores of package ports
//   - packs.go: Packs, a packport.Repository
//   - catalogue.go, collection.go, projects.go, rules.go, executions.go: the catalogue of projects, workflows, actions, templates, rules and
//     executions
//   - limiter.go: Unlimited, a ports.Limiter
package memstore
