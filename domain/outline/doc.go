// Package outline finds what source files define, in many languages, by the shape of their lines: no file is parsed, so it works on what does not compile,
// and it can miss a definition.
//
//   - outline.go: Find, Scanner, Definition; languages.go: how definitions look; definitionend.go: where they end
//
// Its API may change at any time.
package outline
