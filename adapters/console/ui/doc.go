// Package ui provides the building blocks of the console's pages: HTML as values, the page frame and elements, approval requests and plans, and
// running tool calls.
//
// # HTML and pages
//
//   - markup.go, html.go: HTML as values: elements, attributes and text (Node), which is always escaped; there is no way to write text
//     that is not. (A template engine keeps every method of every type in the binary; a library of functions keeps a closure for every
//     place where one is called. These are plain values.)
//   - page.go, components.go, jsonvalue.go, output.go: Page, its frame, sections and headings, and the elements: tables, facts, badges, forms,
//     diffs, diagrams, JSON documents and program output. A page makes no call and decides nothing
//   - specimens.go: a page that shows every element, /ui
//   - assets.go: the style, scripts and icon, all in the binary (Handler). Nothing else is served, and pages
//     load nothing from other servers
//   - sectionbase.go: what the pages of one section have in common: whether its tools are enabled, writing a page, and showing an
//     error
//
// # Calls
//
//   - jobs.go: CallRunner calls tools for the user at the console: reads at once, everything else as a Job, which is shown while it runs, asks
//     when it needs an approval, and can be cancelled. Every action is a call of the core
//   - jobpages.go, preview.go: the pages of jobs below /work/{id}, and Rehearse, a dry run of a call, whose plan a page shows whole
//   - kinds.go, labels.go, parse.go, planfields.go: how members of plans are named and shown
//
// # Approvals
//
//   - planpage.go: a plan for the user who decides: what changes, where, and what would be lost. The names of members select how they are
//     shown. The whole plan is shown; parts that only programs need are collapsed
//   - jobpages.go, datedgrant.go, revealsecrets.go, passkey.go: the forms that approve, deny, allow until a time, reveal what is redacted, and sign with a
//     passkey
//   - runview.go: the result of a call: its status, the reason for it, and who decided
//
// Its API may change at any time.
package ui
