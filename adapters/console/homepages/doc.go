// Package homepages provides the console's first page: how far the set-up is, what waits, what runs, each agent with its last call, what failed, and whether
// what Countersign stands on is in order.
//
//   - homepages.go: the section, and the page
//   - setup.go: the four steps of the set-up, each with its state and the command or button for it; one of them sends an approval request that changes nothing
//   - find.go: every page with its name, as a list, and for the script that finds one by a key
//   - health.go: the checks, which are made at most once a minute
//
// Its API may change at any time.
package homepages
