// Package homepages provides the console's first page: setup steps, pending approvals, running calls, agents with their last call,
// failed calls, and health checks.
//
//   - homepages.go: the section and its page
//   - setup.go: the four setup steps, each with its status and the command or button for it; one of them sends an approval request that changes nothing
//   - find.go: the search over pages, as a page and as JSON for the search dialog
//   - health.go: the health checks, which run at most once a minute
//
// Its API may change at any time.
package homepages
