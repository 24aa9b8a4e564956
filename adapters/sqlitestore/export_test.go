package sqlitestore

// SearchOf is the query of a search.
var SearchOf = search
