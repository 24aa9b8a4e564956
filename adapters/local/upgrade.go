package local

import (
	"fmt"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/sqlitestore"
)

// upgraded tells people that a database was brought up to date, and where it is as it was.
func (c Config) upgraded(u sqlitestore.Upgrade) {
	if c.Log != nil {
		c.Log.Info("the database was upgraded", "path", u.Path, "from", u.From, "to", u.To, "copy", u.Copy)
	}
	if c.Notice != nil {
		c.Notice(fmt.Sprintf("the database %s was upgraded from schema %d to %d; as it was before it is in %s", u.Path, u.From, u.To, u.Copy))
	}
}

// SchemaCopies are the copies of the database that upgrades have left, newest first.
func (l *Local) SchemaCopies() []sqlitestore.SchemaCopy {
	return sqlitestore.SchemaCopies(filepath.Join(l.config.Dir, database))
}
