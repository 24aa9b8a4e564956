package sqlitestore

import (
	"context"
	"database/sql"
)

// Rotate exchanges the key and seals everything anew, in one transaction. It is how many values could not be opened with the old key;
// these stay as they are. When it fails, nothing is lost, and another Rotate finishes it.
func (s *Store) Rotate(ctx context.Context) (lost int, err error) {
	err = s.secrets.Rotate(ctx, func() error {
		_, err := s.Alter(ctx, func(ctx context.Context, tx *sql.Tx) error {
			lost, err = ResealAll(ctx, tx, s.secrets)
			return err
		})
		return err
	})
	return lost, err
}
