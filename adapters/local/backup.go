package local

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/countersign-dev/countersign/adapters/homearchive"
	"github.com/countersign-dev/countersign/adapters/sqlitestore"
	"github.com/countersign-dev/countersign/adapters/system"
)

// archive makes backups of the home, and puts them back. It opens nothing.
func (c Config) archive() *homearchive.Archive {
	return homearchive.New(homearchive.Options{Home: c.Dir, Where: func() (string, string) { return settledPath(c.Dir), system.Machine() }, Version: c.Options.Version, Clock: system.Clock{},
		ID: func() string { return system.IDs{}.NewID("restore_", 16) }})
}

// InUse fails if another process uses the home in the environment: it cannot be replaced then.
func InUse(ctx context.Context, env func(string) string) error {
	dir, err := Config{Env: env}.home()
	if err != nil {
		return err
	}
	archive := Config{Dir: dir}.archive()
	if err := archive.Resume(ctx); err != nil {
		return err
	}
	return homearchive.InUse(ctx, dir)
}

// upgraded tells users that a database was upgraded, and where the old one is.
func (c Config) upgraded(u sqlitestore.Upgrade) {
	if c.Log != nil {
		c.Log.Info("the database was upgraded", "path", u.Path, "from", u.From, "to", u.To, "copy", u.Copy)
	}
	if c.Notice != nil {
		c.Notice(fmt.Sprintf("the database %s was upgraded from schema %d to %d; a copy of the old one is in %s", u.Path, u.From, u.To, u.Copy))
	}
}

// SchemaCopies returns the copies of the database that upgrades have left, newest first.
func (l *Local) SchemaCopies() []sqlitestore.SchemaCopy {
	return sqlitestore.SchemaCopies(filepath.Join(l.config.Dir, database))
}
