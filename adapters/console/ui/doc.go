// Package ui is what all pages of the web console are made of: HTML as values, the frame and the elements of pages, approval requests and
// plans laid out for the user, and tool calls that run, ask and end.
//
// # HTML and pages
//
//   - markup.go, html.go: HTML as values: elements, attributes and text (Node), which is always escaped; there is no way to write text
//     that is not. (A template engine keeps every method of every type in the binary; a library of functions keeps a closure for every
//     place where one is called. These are plain values.)
//   - page.go, components.go, value.go, printed.go: Page, its frame, sections and headings, and the elements: tables, facts, badges, forms,
//     diffs, diagrams, JSON documents and program output. A page makes no call and decides nothing
//   - assets.go: the style, scripts and icon, all in the binary (Handler). Nothing else is served, and no other server is asked for
//     anything
//   - sectionbase.go: what the pages of one section have in common: whether its tools are enabled at all, how a page is written, how an
//     error is said
//
// # Calls
//
//   - jobs.go: Desk calls tools for the user at the console: reads at once, everything else as a Job, which is shown while it runs, asks
//     when it needs an approval, and can be cancelled. Every action is a call of the core
//   - pages.go, rehearse.go: the pages of jobs below /work/{id}, and Rehearse, a dry run of a call, whose plan a page shows whole
//   - kinds.go, words.go, parse.go, block.go: how members of plans are named and shown
//
// # Approvals
//
//   - planpage.go: a plan for the user who decides: what would be done, to what, and what would be lost. Names of members say how they are
//     shown. Nothing of a plan is left out; what only machines need is folded
//   - pages.go, until.go, reveal.go, passkey.go: the forms that approve, deny, allow until a time, reveal what is redacted, and sign with a
//     passkey
//   - runview.go: what became of a call: its status, why it ended as it did, and who decided; nothing is looked up
package ui
