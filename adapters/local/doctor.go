package local

import "context"

// Damage returns what is damaged in the database file, as SQLite says it; none if there is no database.
func (l *Local) Damage(ctx context.Context) ([]string, error) { return l.store.Damage(ctx) }
