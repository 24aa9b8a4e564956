// Package redact masks secrets in text and JSON: tokens that betray themselves by their form, credentials that a name, a header or a command line
// gives away, private keys, and values the process knows to be secret. What was masked reads [REDACTED:name]. The rules are the rows of the
// PackageFlow security contract §4.2; Rule names them.
//
//   - Redactor (redact.go) is made by New and immutable: Text masks a text, JSON (json.go, walker.go) a document by text and by the names values
//     stand under, Paths (paths.go) shows the home directory as ~, With adds known values (knownvalues.go). Masked text is clean: masking it again changes
//     nothing
//   - finding secrets: Detector reads a text once with a keyword filter (filter.go, rules.go) and reads on only where a
//     keyword is, with a matcher written for the rule (scanner.go, tokens.go, assign.go, pem.go). No regular expression is compiled or run. hints.go
//     says whether a document may hold a secret at all
//   - the text around a secret, as users and programs write it: sets of bytes and words (bytes.go), blanks, quotes and separators in plain, escaped
//     and percent-encoded notation (fields.go), names that say "secret" (names.go), values that plainly are none (values.go)
//   - StripControl (control.go) strips terminal escapes and invisible characters
//
// Finding says what a secret is and where it ends; masking replaces it and keeps the structure around it. Clean text costs one table look-up a byte
// and no allocation.
//
// Its API may change at any time.
package redact
