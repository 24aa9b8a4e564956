// Package ecopages provides the console's pages for ecosystems: their manifests, the status of their repositories, and forms for every action,
// in the mode of the console's session or as a preview. Everything shown and done is a tool call through the core.
//
//   - ecopages.go, list.go, overview.go, create.go: section, the list, one ecosystem, the form for a new one
//   - ecosystempage.go, actions.go: shared by all pages: a page about one ecosystem, and the forms of all actions
//   - modegate.go: gate, what the session mode allows for each tool (amof contract §11, §12). It only shows what policy decides
//   - tickets.go, runs.go: tickets, runs and their logs
//   - stages.go, releases.go, environment.go, trash.go: releases, the deployed environment, and archiving, discarding and restoring
//     the workspace
//   - format.go: display forms of names, texts and statuses
//
// Its API may change at any time.
package ecopages
