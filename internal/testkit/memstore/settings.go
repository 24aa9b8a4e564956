package memstore

import (
	"context"
	"encoding/json"

	"github.com/countersign-dev/countersign/ports"
)

// Load returns the settings as they are now.
func (s *Store) Load(ctx context.Context) (ports.Settings, error) {
	if err := ctx.Err(); err != nil {
		return ports.Settings{}, err
	}
	s.settings.Lock()
	defer s.settings.Unlock()
	return cloned(s.settings.now), nil
}

// Save stores next as the next revision and returns it, or fails with ports.ErrSettingsConflict. Settings that have no written form (a
// level or setting that does not exist) are refused with policy.ErrWord.
func (s *Store) Save(ctx context.Context, next ports.Settings) (ports.Settings, error) {
	if err := ctx.Err(); err != nil {
		return ports.Settings{}, err
	}
	if err := writable(next); err != nil {
		return ports.Settings{}, err
	}
	s.settings.Lock()
	defer s.settings.Unlock()
	if s.settings.now.Revision != next.Revision {
		return ports.Settings{}, ports.ErrSettingsConflict
	}
	next.Revision++
	s.settings.now = cloned(next)
	return next, nil
}

func cloned(s ports.Settings) ports.Settings {
	return s.Copy()
}

// writable reports why v could not be read back after it was written as JSON. A store on a disk finds that out too late.
func writable[T any](v T) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, new(T))
}
