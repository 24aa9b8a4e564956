// Package redact replaces secrets in text and JSON: tokens that are recognisable by their form, credentials identified by a name, a header or a
// command line, private keys, and values that the process knows to be secret. A secret is replaced by [REDACTED:name]. The rules are the rows of the
// PackageFlow security contract §4.2; Rule names them.
//
//   - Redactor (redact.go) is made by New and immutable: Text redacts a text, JSON (json.go, walker.go) a document by text and by the names of its
//     values,
//     Paths (paths.go) shows the home directory as ~, With adds known values (knownvalues.go). Redacted text is clean: redacting it again changes
//     nothing
//   - finding secrets: Detector reads a text once with a keyword filter (filter.go, rules.go) and reads on only at a
//     keyword, with a matcher written for the rule (scanner.go, tokens.go, assign.go, pem.go). No regular expression is compiled or run. hints.go
//     reports whether a document may contain a secret at all
//   - the text around a secret, as users and programs write it: sets of bytes and words (bytes.go), spaces, quotes and separators in plain, escaped
//     and percent-encoded notation (fields.go), names that indicate a secret (names.go), values that are clearly not secret (values.go)
//   - StripControl (control.go) removes terminal escapes and invisible characters
//
// Finding determines what a secret is and where it ends; redacting replaces it and keeps the structure around it. Clean text costs one table look-up
// per byte and no allocation.
//
// Its API may change at any time.
package redact
