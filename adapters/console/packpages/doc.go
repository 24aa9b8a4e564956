// Package packpages is the console's pages of context packs: what there is and how fresh it is, one pack with its texts, diagrams and the
// code that its anchors show now, and every step that people take with one. What is shown is what the tools input and output answer, and
// what is done passes the core.
//
//   - packpages.go, list.go, show.go, raw.go: Section, the list of packs, one pack, and the pack as agents read it
//   - actions.go, forms.go: the steps that people take, and their forms
//   - packview.go, excerpt.go, drift.go, reading.go: what the tools say, as Go values: a pack, the code that its anchors show, and how they
//     relate to the source as it is now. The free text of a pack is taken for nothing but text, whatever it looks like
//   - markdown.go, more.go: Markdown that somebody else wrote: CommonMark with tables, struck out text, task lists and bare links. Code is
//     highlighted, Mermaid is a diagram. Every word of the text ends up on the page, escaped: raw HTML is shown as the text it is, so that
//     nothing that an agent would read is hidden from a person. Nothing else of the text is carried into a page: no HTML, no image, and no
//     link but to http, https and mailto
//   - highlight.go, languages.go, lines.go: keywords, strings, comments and numbers told apart, by a small table for each language, in one
//     pass whatever the text is. Put together, the spans are the text, byte for byte, and what goes to pages is escaped
package packpages
