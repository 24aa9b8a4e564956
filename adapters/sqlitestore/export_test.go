package sqlitestore

import "github.com/countersign-dev/countersign/domain/audit"

// SearchOf is the query of a search, the first of them.
func SearchOf(f audit.Filter) (string, []any) { return search(f, ways(f)[0]) }
