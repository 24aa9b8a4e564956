// Package docedit edits single keys in a JSON, JSONC or TOML document that the user owns: it reads, sets and removes them by
// splicing text, so that comments, order, blank lines, indentation and line ends of everything else stay byte for byte. It also makes
// unified diffs.
//
// An Editor has no state. Every edit is checked before it is given back: the new text is read again and must mean the old document with
// just those keys changed. A byte order mark stays, and a document without any bytes is an empty one. What is inserted and removed again
// leaves the document as it was.
//
//   - docedit.go: Editor, Entry, the formats (JSON, JSONC, TOML), ErrFormat and ErrShape; documents.go: the same as deployport.Documents
//     (Documents)
//   - document.go: document, the meaning of a document apart from its text; change.go: change, one value to set, and numbers, keys and texts in
//     one form. Paths are checked against the meaning here, before the syntaxes below see them
//   - json.go: JSON with or without comments and trailing commas; braces.go: members between braces, in JSON objects and inline tables
//     of TOML alike
//   - toml.go, lines.go, inline.go, scan.go, write.go: TOML: sections, lines, dotted keys and inline tables. The library says what a
//     document means, a scanner of its own where everything is
//   - ignorelines.go: the managed section of a .gitignore, whose lines are keys
//   - textdiff.go: Differ shows how one text became another, as a unified diff that git and domain/deployment/overlay apply; DiffText tells
//     text from binary content (agentpack contract, appendix D)
//
// Its API may change at any time.
package docedit
