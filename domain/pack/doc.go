// Package pack implements the rules of a context pack: a curated bundle of anchors into source files and diagrams, in sections, with a time to live,
// a status and a revision that rises by one with every effective change.
//
//   - Pack is the aggregate, State its stored and shown form (pack.go; context-pack contract §1.2). Names, keys, paths and limits are in
//     values.go, the check of a whole pack in validate.go. New makes a draft, Restore checks a stored state again
//   - changes: edit.go; status, finalizing and whole rewrites: lifecycle.go; freshness and time to live: time.go. A finalized pack can change only after
//     it is a draft again
//   - Document is a whole pack as one JSON document, as users and agents write it; its Content becomes a pack's content (document.go). ParseDocument
//     rejects unknown fields and wrong types by name
//   - anchors: Anchor remembers what a ref's lines held (anchor.go); NewResolver finds out what refs show now, whether the lines are unchanged,
//     moved, changed or gone (locate.go, gather.go, search.go). It reads a file in as few passes as possible and holds only the lines that it
//     requests: it says which line it wants next, and is given that line. Reanchor (reanchor.go) updates a draft's refs to moved lines
//   - Markdown: RenderDocument writes a pack (render.go, chunk.go, text.go; contract §3): a legend and the sections with what their refs show now,
//     whole or in pages (cursor.go), in full or compact, or within a token budget (budget.go). Without options the document is byte for byte the
//     contract's. RenderDiff (diff.go) writes what changed since. Evidence is passed in with secrets already masked
//
// The package is pure: files, storage and tools are elsewhere; time and identifiers are arguments.
//
// Its API may change at any time.
package pack
