package local_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/adapters/packfile"
	"github.com/countersign-dev/countersign/domain/pack"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/cputime"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
)

// The budgets of context packs, through the whole core and on real files. Each reports how many times its floor it takes:
//
//	BenchmarkRender    100 refs over 50 files, 300 over 100  ≤ 2 × reading those files once
//	BenchmarkWrite     300 refs over 100 files     ≤ 2 × reading those files once
//	BenchmarkBigFile   40 refs into one 50 MB file  ≤ 1.5 × reading it once
//	BenchmarkGrow      300 anchors by 300 calls    the last fifty ≤ 1.5 × the first fifty
//	BenchmarkManyPacks get, render, mutate one of 5,000 packs  ≤ 2 × one of 10; list 20 of 5,000, warm ≤ 3 × one stat of each file

// packFixture is an opened core with a directory of sources.
type packFixture struct {
	b     testing.TB
	core  *local.Local
	root  string // of the packs
	src   string
	owner tool.Call
}

func newShop(b *testing.B) *packFixture {
	s := &packFixture{b: b, root: filepath.Join(b.TempDir(), "packs"), src: b.TempDir()}
	env := map[string]string{"COUNTERSIGN_HOME": filepath.Join(b.TempDir(), "home"), "CONTEXT_PACK_ROOT": s.root, "CONTEXT_PACK_SOURCE_ROOT": s.src}
	c, err := local.EnvironmentOver(local.Config{Trust: nopolicy.Trust(b.TempDir()), Options: local.Defaults()}, func(name string) string { return env[name] })
	require.NoError(b, err)
	s.core, err = local.Open(c)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.core.Close()) })
	s.owner = tool.Call{Session: "bench", Principal: s.core.Owner()}
	return s
}

func (s *packFixture) call(name tool.Name, args map[string]any) tool.Outcome {
	c := s.owner
	var err error
	c.Tool = name
	c.Args, err = tool.Encode(args)
	require.NoError(s.b, err)
	o := s.core.Call(s.b.Context(), c)
	require.NoError(s.b, o.Err)
	return o
}

// write makes a pack of one section and returns its id.
func (s *packFixture) write(refs []map[string]any) string {
	o := s.call("input", map[string]any{"action": "write", "document": map[string]any{
		"title": "A pack", "ttl_minutes": 600, "sections": []any{map[string]any{"key": "flow", "title": "Flow", "refs": refs}},
	}})
	var made struct{ Payload struct{ ID string } }
	require.NoError(s.b, json.Unmarshal(o.Value, &made))
	return made.Payload.ID
}

func ref(n int, path string, first, last int) map[string]any {
	return map[string]any{"key": fmt.Sprintf("ref%d", n), "path": path, "line_start": first, "line_end": last}
}

// source is so many lines of code as code is: one line in ten has a word that redaction looks at more closely.
func source(lines int) []byte {
	var text bytes.Buffer
	for n := range lines {
		if n%10 == 0 {
			fmt.Fprintf(&text, "\tif err := verify(ctx, token%d); err != nil {\n", n)
		} else {
			fmt.Fprintf(&text, "\t\treturn nil, fmt.Errorf(\"line %d: %%w\", err)\n", n)
		}
	}
	return text.Bytes()
}

// BenchmarkRender renders 100 refs over 50 files of 16 KB, and 300 over 100.
func BenchmarkRender(b *testing.B) {
	for _, size := range [][2]int{{50, 2}, {100, 3}} {
		b.Run(fmt.Sprint(size[0]*size[1]), func(b *testing.B) {
			s := newShop(b)
			var files []string
			var refs []map[string]any
			for f := range size[0] {
				name := fmt.Sprintf("file%d.go", f)
				files = append(files, filepath.Join(s.src, name))
				require.NoError(b, os.WriteFile(files[f], source(375), 0o644))
				for n := range size[1] {
					refs = append(refs, ref(len(refs), name, 100*(n+1), 100*(n+1)+20))
				}
			}
			id := s.write(refs)
			compare(b, func() {
				for _, f := range files {
					_, err := os.ReadFile(f)
					require.NoError(b, err)
				}
			}, func() { s.call("output", map[string]any{"id": id}) })
		})
	}
}

// BenchmarkWrite writes a pack of 300 refs over 100 files by one call.
func BenchmarkWrite(b *testing.B) {
	s := newShop(b)
	var files []string
	var refs []map[string]any
	for f := range 100 {
		name := fmt.Sprintf("file%d.go", f)
		files = append(files, filepath.Join(s.src, name))
		require.NoError(b, os.WriteFile(files[f], source(375), 0o644))
		for n := range 3 {
			refs = append(refs, ref(len(refs), name, 100*(n+1), 100*(n+1)+20))
		}
	}
	compare(b, func() {
		for _, f := range files {
			_, err := os.ReadFile(f)
			require.NoError(b, err)
		}
	}, func() { s.write(refs) })
}

// BenchmarkBigFile renders 40 refs into one file of 50 MB, the last at its very end.
func BenchmarkBigFile(b *testing.B) {
	s := newShop(b)
	const lines = 1_250_000
	file := filepath.Join(s.src, "big.go")
	require.NoError(b, os.WriteFile(file, source(lines), 0o644))
	var refs []map[string]any
	for r := range 40 {
		refs = append(refs, ref(r, "big.go", (r+1)*lines/40-2, (r+1)*lines/40))
	}
	id := s.write(refs)
	chunk := make([]byte, 128<<10)
	compare(b, func() {
		f, err := os.Open(file)
		require.NoError(b, err)
		defer f.Close()
		for err == nil {
			_, err = f.Read(chunk)
		}
		require.ErrorIs(b, err, io.EOF)
	}, func() { s.call("output", map[string]any{"id": id}) })
}

// crowd fills the store with copies of one pack, directly: creating them durably would take a minute.
func (s *packFixture) crowd(packs int) (id string) {
	require.NoError(s.b, os.WriteFile(filepath.Join(s.src, "a.go"), source(50), 0o644))
	id = s.write([]map[string]any{ref(1, "a.go", 10, 20)})
	data, err := os.ReadFile(filepath.Join(s.root, "packs", id+".md"))
	require.NoError(s.b, err)
	first, err := packfile.Decode(data)
	require.NoError(s.b, err)
	for n := range packs - 1 {
		state := first.State()
		state.ID, state.Name = pack.ID("pk_"+letters(n)), pack.Optional("copy-"+letters(n))
		data, err := packfile.Encode(state)
		require.NoError(s.b, err)
		require.NoError(s.b, os.WriteFile(filepath.Join(s.root, "packs", string(state.ID)+".md"), data, 0o600))
	}
	return id
}

// letters is n in eight letters.
func letters(n int) string {
	out := []byte("aaaaaaaa")
	for i := len(out) - 1; n > 0; i, n = i-1, n/26 {
		out[i] += byte(n % 26)
	}
	return string(out)
}

// BenchmarkManyPacks compares a store of 5,000 packs with one of 10, both warm.
func BenchmarkManyPacks(b *testing.B) {
	few, many := newShop(b), newShop(b)
	inFew, inMany := few.crowd(10), many.crowd(5000)
	<-time.After(200 * time.Millisecond) // until the time stamps of files are believed
	list := func() { many.call("input", map[string]any{"action": "list", "limit": 20}) }
	list()
	list()
	few.call("input", map[string]any{"action": "list"})
	for _, on := range []struct { // in this order: for a moment after a change its file is read every time
		name string
		does func(s *packFixture, id string)
	}{
		{"get", func(s *packFixture, id string) { s.call("input", map[string]any{"action": "get", "id": id}) }},
		{"render", func(s *packFixture, id string) { s.call("output", map[string]any{"id": id}) }},
		{"mutate", func(s *packFixture, id string) {
			s.call("input", map[string]any{"action": "touch_ttl", "id": id, "ttl_minutes": 600, "expected_revision": s.revision(id)})
		}},
	} {
		b.Run(on.name, func(b *testing.B) {
			compare(b, func() { on.does(few, inFew) }, func() { on.does(many, inMany) })
		})
	}
	b.Run("list", func(b *testing.B) {
		files, err := filepath.Glob(filepath.Join(many.root, "packs", "*.md"))
		require.NoError(b, err)
		require.Len(b, files, 5000)
		compare(b, func() {
			for _, f := range files {
				_, err := os.Stat(f)
				require.NoError(b, err)
			}
		}, list)
	})
}

func (s *packFixture) revision(id string) (n uint64) {
	var made struct{ Payload struct{ Revision uint64 } }
	require.NoError(s.b, json.Unmarshal(s.call("input", map[string]any{"action": "get", "id": id}).Value, &made))
	return made.Payload.Revision
}

// compare runs floor and work in turn and reports the medians of their processor times, and the ratio.
func compare(b *testing.B, floor, work func()) {
	b.Helper()
	floor()
	work()
	var took [2][]float64
	for range max(b.N, 15) {
		for i, run := range []func(){floor, work} {
			took[i] = append(took[i], float64(cputime.Of(run).Nanoseconds())/1e3)
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	middle := len(took[0]) / 2
	b.ReportMetric(took[0][middle], "floor-µs")
	b.ReportMetric(took[1][middle], "work-µs")
	b.ReportMetric(took[1][middle]/took[0][middle], "x-floor")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGrow builds a pack of 300 anchors over 100 files by 300 calls. Its floor is the first fifty calls, its work the last fifty, both in processor time:
// what a call costs may hardly depend on what the pack holds already.
func BenchmarkGrow(b *testing.B) {
	for name, answer := range map[string]map[string]any{"whole": {}, "compact": {"terse": true}} {
		b.Run(name, func(b *testing.B) {
			s := newShop(b)
			for f := range 100 {
				require.NoError(b, os.WriteFile(filepath.Join(s.src, fmt.Sprintf("file%d.go", f)), source(375), 0o644))
			}
			var first, last float64
			for range max(b.N, 3) {
				f, l := s.grow(answer)
				if first == 0 || f+l < first+last { // the least disturbed run
					first, last = f, l
				}
			}
			b.ReportMetric(first, "floor-µs")
			b.ReportMetric(last, "work-µs")
			b.ReportMetric(last/first, "x-floor")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// grow builds the pack, and returns what one of its first and one of its last fifty calls took, in microseconds of processor time.
func (s *packFixture) grow(answer map[string]any) (first, last float64) {
	id := s.write(nil)
	var at []time.Duration
	for n := range 301 {
		if n%50 == 0 {
			at = append(at, cputime.Self())
		}
		args := map[string]any{"action": "upsert_ref", "id": id, "expected_revision": n + 1, "section_key": "flow", "ref_key": fmt.Sprintf("ref%d", n),
			"path": fmt.Sprintf("file%d.go", n%100), "line_start": 100 + n/100*30, "line_end": 120 + n/100*30, "ref_title": "Where the token is checked",
			"ref_why": "the expiry is compared with a clock: that of another machine"}
		maps.Copy(args, answer)
		s.call("input", args)
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / 50 }
	return each(at[1] - at[0]), each(at[6] - at[5])
}
