// Package sqlitestore implements the storage ports in one embedded SQLite database that several processes share.
//
// Opening a Store opens nothing; the disk is not touched before a call needs it, and reading from a database that does not exist answers
// empty and creates nothing. It is not for network file systems, whose locks do not hold. All methods may be called from many goroutines,
// and many processes may have the same database open. A function handed to Change, Update or Settle must not write to the same store: it
// would wait for itself until its context ends. The file, its locks and its schema are the Store's; the other types keep their tables in
// its database.
//
//   - store.go, open.go, fault.go: Store, its transactions, opening the database, and SQLite's errors as faults (ErrUnavailable,
//     ErrEmptied, ErrNewer)
//   - copy.go: copies of the database: the one that is kept before its schema is brought up to date, and those of a backup
//   - audit.go: the audit log, hash-chained and signed (ports.AuditLog); auditindex.go, auditchain.go: searching it by indexes, and reading the whole chain with them; settings.go, watch.go: settings and sessions, read again only when
//     the database changed
//   - ledger.go, dated.go: approval requests (NewLedger) and grants until a date (NewDated). The arguments of a request are sealed
//     while it can be answered, and gone when it cannot
//   - runs.go: call records (NewRuns)
//   - credentials.go, keys.go: credentials, of which it stores only digests, and enrolled keys; package enrolment decides which of those
//     count
//   - catalogue.go, table.go, projects.go, workflows.go, actions.go, templates.go, executions.go: the catalogue of projects. Where there is
//     no database nothing but Create and Put makes one
//   - sealed.go, body.go, rotate.go: columns that hold secrets, sealed and each bound to its row (Column), and sealing everything anew
//     under another key. The key is in the directory keys beside the database; what cannot be opened stays as it is, because a key that is
//     put back may open it yet
//
// Its API may change at any time.
package sqlitestore
