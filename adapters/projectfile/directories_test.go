package projectfile_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/ports/projectport"
)

// machine is whose directories are looked at.
type machine struct {
	Home string
	Own  []string // Countersign's own directories
	Env  []string // "NAME=value"
}

// openDirectories opens the directories of a machine.
type openDirectories func(t testing.TB, m machine) projectport.Directories

// directories holds directories to projectport's contract, over real ones.
func directories(t *testing.T, open openDirectories) {
	t.Run("Resolves", func(t *testing.T) { resolves(t, open) })
	t.Run("RefusesWhatIsNoPath", func(t *testing.T) { refusesWhatIsNoPath(t, open) })
	t.Run("TellsNothingApart", func(t *testing.T) { tellsNothingApart(t, open) })
	t.Run("NoticesReplacedRoots", func(t *testing.T) { noticesReplacedRoots(t, open) })
	t.Run("Plans", func(t *testing.T) { plans(t, open) })
	t.Run("Registers", func(t *testing.T) { registers(t, open) })
	t.Run("StatesFacts", func(t *testing.T) { statesFacts(t, open) })
	t.Run("ReadsOddManifests", func(t *testing.T) { readsOddManifests(t, open) })
	t.Run("FactsOfWhatIsGone", func(t *testing.T) { factsOfWhatIsGone(t, open) })
	t.Run("FindsTools", func(t *testing.T) { findsTools(t, open) })
	t.Run("NamesToolchains", func(t *testing.T) { namesToolchains(t, open) })
	t.Run("KnowsSecrets", func(t *testing.T) { knowsSecrets(t, open) })
	t.Run("StopsWhenCancelled", func(t *testing.T) { stopsLooking(t, open) })
}

// land returns a new directory without links on its path.
func land(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// grow makes what is named below base: directories end in a slash, "name -> target" is a link, "name = text" a file, other names empty ones.
func grow(t testing.TB, base string, entries ...string) string {
	t.Helper()
	for _, e := range entries {
		name, text, _ := strings.Cut(e, " = ")
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(base, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case link:
			require.NoError(t, os.Symlink(target, path))
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		default:
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	return base
}

// estate returns a directory with projects and their neighbours, and the roots in it.
func estate(t testing.TB) (base string, roots []string) {
	t.Helper()
	base = grow(t, land(t), "home/", "proj/src/deep/", "proj/file.txt", "proj/inner/x/", "proj/inner/up -> ../src", "proj/over -> inner/x",
		"proj-evil/src/", "outside/", "outside/back -> ../proj/src", "proj/out -> ../outside", "proj/abs -> /etc", "proj/in -> src/deep",
		"alias -> proj", "proj/home -> ../outside/back", "proj/loop -> loop", "proj/nowhere -> src/none", "proj/..dots/", "proj/foo..bar/",
		"proj/$HOME/", "proj/ünïcode 日本/", "proj/Case/")
	return base, []string{base + "/gone", base + "/proj", base + "/proj/inner", "", "relative", base + "/home"}
}

// resolutions are paths of an estate: which directory they lead to, in which root; nothing where they are refused.
func resolutions() map[string][2]string {
	return map[string][2]string{
		"/proj":                {"/proj", "/proj"},
		"/proj/":               {"/proj", "/proj"},
		"//proj/./src//":       {"/proj/src", "/proj"},
		"/proj/src/deep":       {"/proj/src/deep", "/proj"},
		"/proj/inner":          {"/proj/inner", "/proj/inner"}, // the innermost root
		"/proj/inner/x":        {"/proj/inner/x", "/proj/inner"},
		"/proj/inner/up":       {"/proj/src", "/proj"}, // a link from one into the other
		"/proj/over":           {"/proj/inner/x", "/proj/inner"},
		"/proj/in":             {"/proj/src/deep", "/proj"},
		"/alias":               {"/proj", "/proj"}, // a link from outside leads in
		"/alias/inner/x":       {"/proj/inner/x", "/proj/inner"},
		"/outside/back/deep":   {"/proj/src/deep", "/proj"},
		"/proj/home/deep":      {"/proj/src/deep", "/proj"}, // out and back in
		"/proj/..dots":         {"/proj/..dots", "/proj"},
		"/proj/foo..bar":       {"/proj/foo..bar", "/proj"},
		"/proj/$HOME":          {"/proj/$HOME", "/proj"},
		"/proj/ünïcode 日本":     {"/proj/ünïcode 日本", "/proj"},
		"":                     {},
		"/":                    {},
		"/gone":                {},
		"/gone/x":              {},
		"/proj-evil":           {}, // no prefix of text
		"/proj-evil/src":       {},
		"/outside":             {},
		"/proj/out":            {},
		"/proj/abs":            {},
		"/proj/abs/ssl":        {},
		"/proj/file.txt":       {},
		"/proj/file.txt/below": {},
		"/proj/none":           {},
		"/proj/nowhere":        {},
		"/proj/loop":           {},
	}
}

func resolves(t *testing.T, open openDirectories) {
	base, roots := estate(t)
	d := open(t, machine{Home: base + "/home"})
	for path, want := range resolutions() {
		t.Run(path, func(t *testing.T) {
			dir, root, err := d.Resolve(t.Context(), base+path, roots)
			if want[0] == "" {
				require.ErrorIs(t, err, project.ErrPath)
				assert.Empty(t, dir+root)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, [2]string{base + want[0], base + want[1]}, [2]string{dir, root})
		})
	}
	t.Run("case", func(t *testing.T) { // a directory's other spelling is that directory exactly where the volume says so
		_, err := os.Stat(base + "/PROJ/case")
		dir, root, refused := d.Resolve(t.Context(), base+"/PROJ/case", roots)
		if err != nil {
			require.ErrorIs(t, refused, project.ErrPath)
			return
		}
		require.NoError(t, refused)
		assert.Equal(t, base+"/proj", root)
		assert.True(t, strings.HasPrefix(dir, root+"/"), dir)
	})
	t.Run("no roots", func(t *testing.T) {
		_, _, err := d.Resolve(t.Context(), base+"/proj", nil)
		require.ErrorIs(t, err, project.ErrPath)
	})
}

func refusesWhatIsNoPath(t *testing.T, open openDirectories) {
	base, roots := estate(t)
	d := open(t, machine{Home: base + "/home"})
	padded := func(n int) string { return base + strings.Repeat("/", n-len(base)-len("proj")) + "proj" }
	dir, _, err := d.Resolve(t.Context(), padded(project.MaxPath), roots)
	require.NoError(t, err, "4,096 bytes are allowed")
	assert.Equal(t, base+"/proj", dir)
	for name, path := range map[string]string{
		"empty": "", "relative": "proj", "home": "~/proj", "dots": base + "/proj/../proj", "dots at the end": base + "/proj/src/..",
		"NUL": base + "/proj\x00", "newline": base + "/proj\n", "no UTF-8": base + "/proj\xff", "too long": padded(project.MaxPath + 1),
		"a name too long": base + "/proj/" + strings.Repeat("x", 256), "too deep": base + "/proj" + strings.Repeat("/x", 1900),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := d.Resolve(t.Context(), path, roots)
			require.ErrorIs(t, err, project.ErrPath)
			if name == "too deep" {
				return // to be made, that is a plan like others
			}
			_, _, err = d.Planned(t.Context(), path, roots)
			require.ErrorIs(t, err, project.ErrPath)
			_, err = d.Register(t.Context(), path)
			require.ErrorIs(t, err, project.ErrRegistration)
		})
	}
	require.NoError(t, os.Mkdir(base+"/proj/two\nlines", 0o755))
	require.NoError(t, os.Symlink("two\nlines", base+"/proj/plain"))
	_, _, err = d.Resolve(t.Context(), base+"/proj/plain", roots)
	require.ErrorIs(t, err, project.ErrPath, "what a link leads to must be a path too")
}

func tellsNothingApart(t *testing.T, open openDirectories) {
	base, roots := estate(t)
	d := open(t, machine{Home: base + "/home"})
	var first string
	for _, path := range []string{"/none", "/outside", "/proj/file.txt", "/proj/out", "/proj/nowhere", "/proj/loop", "/proj-evil", "/outside/none/x"} {
		_, _, err := d.Resolve(t.Context(), base+path, roots)
		require.ErrorIs(t, err, project.ErrPath)
		text := strings.ReplaceAll(err.Error(), base+path, "PATH")
		if first == "" {
			first = text
		}
		assert.Equal(t, first, text, path)
		assert.NotContains(t, text, base)
		assert.Equal(t, fault.Denied, fault.From(err).Kind)
	}
	_, _, missing := d.Planned(t.Context(), base+"/outside/none", roots)
	_, _, there := d.Planned(t.Context(), base+"/outside", roots)
	assert.Equal(t, strings.ReplaceAll(missing.Error(), "/none", ""), there.Error())
}

func noticesReplacedRoots(t *testing.T, open openDirectories) {
	replace := map[string]func(t *testing.T, base string){
		"nothing":        func(*testing.T, string) {},
		"a file":         func(t *testing.T, base string) { grow(t, base, "proj") },
		"a link":         func(t *testing.T, base string) { grow(t, base, "proj -> outside", "outside/src/") },
		"a link to home": func(t *testing.T, base string) { grow(t, base, "proj -> home", "home/src/") },
		"a pipe":         func(t *testing.T, base string) { require.NoError(t, syscall.Mkfifo(base+"/proj", 0o644)) },
	}
	for name, put := range replace {
		t.Run(name, func(t *testing.T) {
			base, roots := estate(t)
			d := open(t, machine{Home: base + "/home"})
			require.NoError(t, os.RemoveAll(base+"/proj"))
			put(t, base)
			for _, path := range []string{"/proj", "/proj/src", "/alias", "/alias/src", "/outside/src"} {
				_, _, err := d.Resolve(t.Context(), base+path, roots[:3])
				require.ErrorIs(t, err, project.ErrPath, path)
				_, _, err = d.Planned(t.Context(), base+path+"/new", roots[:3])
				require.ErrorIs(t, err, project.ErrPath, path)
			}
		})
	}
	t.Run("moved with everything above it", func(t *testing.T) {
		base := grow(t, land(t), "home/", "old/proj/src/")
		d := open(t, machine{Home: base + "/home"})
		require.NoError(t, os.Rename(base+"/old", base+"/new"))
		grow(t, base, "old -> new")
		dir, root, err := d.Resolve(t.Context(), base+"/old/proj/src", []string{base + "/old/proj"})
		require.NoError(t, err)
		assert.Equal(t, [2]string{base + "/new/proj/src", base + "/old/proj"}, [2]string{dir, root})
	})
	t.Run("moved to where nothing is registered", func(t *testing.T) {
		base := grow(t, land(t), "up/home/src/")
		d := open(t, machine{Home: base + "/up/home"})
		grow(t, base, "old -> up")
		_, _, err := d.Resolve(t.Context(), base+"/old/home/src", []string{base + "/old/home"})
		require.ErrorIs(t, err, project.ErrPath)
	})
}

func plans(t *testing.T, open openDirectories) {
	base, roots := estate(t)
	d := open(t, machine{Home: base + "/home"})
	for path, want := range map[string][2]string{
		"/proj/src":                             {"/proj/src", "/proj"},
		"/proj/new":                             {"/proj/new", "/proj"},
		"/proj/new/er/":                         {"/proj/new/er", "/proj"},
		"/proj/in/new":                          {"/proj/src/deep/new", "/proj"},
		"/alias/inner/new/er":                   {"/proj/inner/new/er", "/proj/inner"},
		"/proj/ünter/日本":                        {"/proj/ünter/日本", "/proj"},
		"/proj/file.txt":                        {},
		"/proj/file.txt/new":                    {},
		"/proj/out/new":                         {},
		"/proj/nowhere":                         {}, // what is made through a link that leads nowhere is nobody's plan
		"/proj/nowhere/new":                     {},
		"/proj/loop/new":                        {},
		"/proj-evil/new":                        {},
		"/proj-new":                             {},
		"/gone/new":                             {},
		"/new":                                  {},
		"/proj/new/" + strings.Repeat("x", 256): {},
		"/proj/new/../../x":                     {},
		"/outside/back/../../x":                 {},
	} {
		t.Run(path, func(t *testing.T) {
			dir, root, err := d.Planned(t.Context(), base+path, roots)
			if want[0] == "" {
				require.ErrorIs(t, err, project.ErrPath)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, [2]string{base + want[0], base + want[1]}, [2]string{dir, root})
			if strings.Contains(path, "new") {
				assert.NoDirExists(t, dir, "nothing is made")
			}
		})
	}
	deep := base + "/proj" + strings.Repeat("/x", (project.MaxPath-len(base)-9)/2) // the longest that the system takes
	dir, _, err := d.Planned(t.Context(), deep, roots)
	require.NoError(t, err)
	assert.Equal(t, deep, dir)
}

// registrations are paths and what they are registered as; nothing where they are refused.
func registrations(base, home string) map[string]string {
	return map[string]string{
		home + "/code/proj":      home + "/code/proj",
		home + "/code/":          home + "/code",
		home + "/to":             home + "/code/proj",
		base + "/people/other":   base + "/people/other",
		base + "/data/free":      base + "/data/free",
		home:                     "",
		home + "/me":             "",
		base + "/people":         "", // above home
		base + "/data":           "", // above our own
		base + "/data/own":       "",
		base + "/data/own/deep":  "",
		home + "/data":           "",
		home + "/hollow":         "", // above our own, which is not made yet
		home + "/file":           "",
		home + "/file/x":         "",
		home + "/none":           "",
		home + "/gone":           "",
		"/":                      "",
		"//":                     "",
		"/etc":                   "",
		"/etc/ssl":               "",
		"/usr":                   "",
		"/usr/share":             "",
		"/usr/local":             "",
		"/bin":                   "",
		"/sbin":                  "",
		"/lib":                   "",
		"/dev":                   "",
		"/dev/shm":               "",
		"/dev/null":              "",
		"/proc":                  "",
		"/proc/self":             "",
		"/sys":                   "",
		"/boot":                  "",
		"/var":                   "",
		"/var/lib":               "",
		"/tmp":                   "",
		"/home":                  "",
		"/root":                  "",
		"/opt":                   "",
		home + "/code/../code/x": "",
	}
}

func registers(t *testing.T, open openDirectories) {
	base := grow(t, land(t), "people/home/code/proj/", "people/other/", "data/own/deep/", "data/free/", "people/home/to -> code/proj", "people/home/me -> .",
		"people/home/file", "people/home/data -> ../../data/own", "people/home/gone -> none", "people/home/hollow/")
	home := base + "/people/home"
	d := open(t, machine{Home: home, Own: []string{base + "/data/own", home + "/hollow/not/yet", "relative"}})
	for path, want := range registrations(base, home) {
		t.Run(path, func(t *testing.T) {
			dir, err := d.Register(t.Context(), path)
			if want == "" {
				require.ErrorIs(t, err, project.ErrRegistration)
				assert.Contains(t, err.Error(), ";", "a way out is named")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, want, dir)
		})
	}
	t.Run("home through a link", func(t *testing.T) {
		grow(t, base, "house -> people/home")
		d := open(t, machine{Home: base + "/house", Own: []string{base + "/people/home/data"}})
		for _, path := range []string{home, base + "/people", base + "/data/own"} {
			_, err := d.Register(t.Context(), path)
			require.ErrorIs(t, err, project.ErrRegistration, path)
		}
	})
}

func stopsLooking(t *testing.T, open openDirectories) {
	base, roots := estate(t)
	d := open(t, machine{Home: base + "/home"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := d.Resolve(ctx, base+"/proj", roots)
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = d.Planned(ctx, base+"/proj", roots)
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.Register(ctx, base+"/proj")
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.Facts(ctx, base+"/proj")
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.Surroundings(ctx, base+"/proj")
	require.ErrorIs(t, err, context.Canceled)
}
