// Package yamlcodec is the one place that reads and writes YAML: strictly, into typed values, within bounds, and with every problem
// reported at its line and column. Nothing outside it names the YAML library, so the library can be exchanged here.
//
//   - decode.go: Decode, Options, Problems. Repeated keys at any depth, several documents, explicit tags, invalid UTF-8, values of another
//     type and numbers that do not fit are problems, all reported at once as far as the syntax allows (ErrInvalid)
//   - node.go: Parse, into Nodes with their places and the form in which they are written
//   - encode.go, pairs.go: Encode writes documents in the layout of serde_yaml; Pairs are mappings whose keys keep their order; encodeBlock
//     and encodeFlow
//   - splice.go, span.go: Append and Remove change lists in a document by splicing text: every byte that a change is not about, comments,
//     blank lines, quotes and order, stays as it was
//
// Its API may change at any time.
package yamlcodec
