package gitfixture

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// mould is the files of a repository and its remote as git made them once. A repository of an archive has the same content every time, and
// writing it down again takes a tenth of the time of the gits that make it.
type mould struct {
	top   string // where git made them: stands in the configuration alone
	parts []part
}

// part is a file or a directory, by its path below the top.
type part struct {
	path string
	mode fs.FileMode
	text []byte
}

// moulds remembers the mould of each history.
var moulds = remembered()

func remembered() func(t testing.TB, archives []string) mould {
	var (
		lock sync.Mutex
		made = map[string]mould{}
	)
	return func(t testing.TB, archives []string) mould {
		t.Helper()
		lock.Lock()
		defer lock.Unlock()
		key := strings.Join(archives, "\x00")
		m, ok := made[key]
		if !ok {
			m = mouldOf(t, fresh(t, archives))
			made[key] = m
		}
		return m
	}
}

// mouldOf takes it from a repository that git has made.
func mouldOf(t testing.TB, r *Repo) mould {
	t.Helper()
	m := mould{top: filepath.Dir(r.Dir)}
	require.NoError(t, filepath.WalkDir(m.top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		p := part{path: strings.TrimPrefix(path, m.top), mode: info.Mode()}
		if !d.IsDir() {
			p.text, err = os.ReadFile(path)
		}
		m.parts = append(m.parts, p)
		return err
	}))
	return m
}

// cast writes it down below another top.
func (m mould) cast(t testing.TB, top string) {
	t.Helper()
	for _, p := range m.parts {
		path := top + p.path
		switch {
		case p.path == "":
		case p.mode.IsDir():
			require.NoError(t, os.Mkdir(path, p.mode.Perm()))
		default:
			text := p.text
			if filepath.Base(path) == "config" {
				text = bytes.ReplaceAll(text, []byte(m.top), []byte(top))
			}
			require.NoError(t, os.WriteFile(path, text, p.mode.Perm()))
		}
	}
}
