// Package ecopages is the console's pages of ecosystems: what they are made of, how their repositories stand, and every step that can be
// taken with them, in the mode of the console's session or as a preview. What is shown is what the tools answer, and what is done passes
// the core.
//
//   - ecopages.go, list.go, overview.go, create.go: Section, the list, one ecosystem, a new one
//   - base.go, actions.go: Desk, what all these pages work with: a page about one ecosystem with its parts (About), and the forms of
//     everything that can be done
//   - gate.go: Gate, how far the mode of this session lets each tool go (amof contract §11, §12). It shows what a mode allows and does not
//     decide it
//   - tickets.go, runs.go: tickets, runs and their logs
//   - stages.go, releases.go, environment.go, trash.go: Stages: releases, the environment that is deployed, and the workspace that is
//     archived, discarded or restored
//   - words.go: how names, texts and states are written
package ecopages
