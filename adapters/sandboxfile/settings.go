package sandboxfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/countersign-dev/countersign/ports/sandboxport"
)

// Init writes the global settings file with fresh random secrets when there is none, and reports where it is. What it wrote is in the file and
// nowhere else. An existing file is not changed.
func (s *Store) Init(ctx context.Context) (path string, created bool, err error) {
	path = s.memory.File(settingName)
	release, err := s.exclude(ctx, lockName, "the settings file")
	if err != nil {
		return path, false, err
	}
	defer release()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, false, err
	}
	return path, true, s.memory.Write(settingName, DefaultSettings())
}

// Settings implements sandboxport.ProjectDirs.
func (s *Store) Settings(ctx context.Context, name string) (sandboxport.Settings, error) {
	if err := cmp.Or(ctx.Err(), s.checkHome()); err != nil {
		return sandboxport.Settings{}, err
	}
	own := ""
	if name != "" {
		own = s.Layout(name, "").Secrets
	}
	return s.settings().Settings(own)
}

func (s *Store) settings() SettingsFiles {
	return SettingsFiles{Global: s.memory.File(settingName), Expand: s.absolute, Env: s.o.Env, Environ: s.o.Environ}
}
