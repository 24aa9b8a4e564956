// Package ecopages provides the console's pages for ecosystems: their manifests, the status of their repositories, and forms for every action,
// in the mode of the console's session or as a preview. Everything shown and done is a tool call through the core.
//
//   - ecopages.go, list.go, overview.go, create.go: Section, the list, one ecosystem, a new one
//   - ecosystempage.go, actions.go: what all these pages share: a page about one ecosystem, and the forms of all actions
//   - modegate.go: Gate, how far the mode of this session lets each tool go (amof contract §11, §12). It shows what a mode allows and does not
//     decide it
//   - tickets.go, runs.go: tickets, runs and their logs
//   - stages.go, releases.go, environment.go, trash.go: Stages: releases, the environment that is deployed, and the workspace that is
//     archived, discarded or restored
//   - format.go: display forms of names, texts and statuses
//
// Its API may change at any time.
package ecopages
