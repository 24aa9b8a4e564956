// Package packpages provides the console's pages for context packs: the list with its freshness, one pack with its texts, diagrams and the code
// that its anchors show now, and forms for every action. Everything shown and done is a call of the tools input and output through the core.
//
//   - packpages.go, list.go, show.go, raw.go: Section, the list of packs, one pack, and the pack as agents read it
//   - actions.go, forms.go: actions and their forms
//   - packview.go, excerpt.go, drift.go, load.go: results of the tools as Go values: a pack, the code that its anchors show, and how
//     they relate to the current source. The free text of a pack is never interpreted
//   - markdown.go, markdowntable.go: untrusted Markdown: CommonMark with tables, struck out text, task lists and bare links. Code is
//     highlighted, Mermaid is a diagram. Every word of the text ends up on the page, escaped: raw HTML is shown as the text it is, so that
//     nothing that an agent would read is hidden from the user. Nothing else of the text is carried into a page: no HTML, no image, and no
//     link but to http, https and mailto
//   - highlight.go, languages.go, lines.go: keywords, strings, comments and numbers told apart, by a small table for each language, in one
//     pass whatever the text is. Put together, the spans are the text, byte for byte, and what goes to pages is escaped
//
// Its API may change at any time.
package packpages
