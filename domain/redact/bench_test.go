package redact_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/redact"
)

// mixed is about size bytes of logs and source code with a secret of every row in each 36 KB, as a busy machine's output has at most.
func mixed(size, secretEvery int) string {
	m := maker{rand.New(rand.NewSource(7))}
	var samples []func(int) sample
	for name, make := range rows(m) {
		if name != "known_value" && name != "private_key" {
			samples = append(samples, make)
		}
	}
	levels := []string{"INFO", "DEBUG", "WARN"}
	code := strings.Split(sourceCode, "\n")
	var b strings.Builder
	next := secretEvery
	for i := 0; b.Len() < size; i++ {
		if i%3 == 0 {
			b.WriteString(code[i/3%len(code)])
			b.WriteByte('\n')
			continue
		}
		fmt.Fprintf(&b, "2026-11-21T10:%02d:%02d.%03dZ %s worker[%d] GET https://api.example.com/v1/items/%d?page=%d 200 %d bytes in %d ms trace=%016x\n",
			i/60%60, i%60, i%1000, levels[i%3], i%17, m.Intn(1e6), i%40, m.Intn(1e5), m.Intn(900), m.Uint64())
		if secretEvery > 0 && b.Len() > next {
			fmt.Fprintf(&b, "debug: %s done\n", samples[i%len(samples)](i).text)
			next += secretEvery
		}
	}
	return b.String()
}

const sourceCode = `// Parse reads tokens until the end of the file and reports the first error it meets.
func (p *parser) Parse(src []byte) (*File, error) {
	p.scanner.Init(p.file, src, p.handleError, scanner.ScanComments)
	for p.tok != token.EOF {
		decl := p.parseDeclaration(token.Pos(p.offset))
		if decl == nil {
			return nil, fmt.Errorf("%s: expected declaration, found %q", p.file.Position(p.pos), p.lit)
		}
		p.decls = append(p.decls, decl)
	}
	return &File{Decls: p.decls, Comments: p.comments}, nil
}
	if password := r.Header.Get("X-Password"); !check(password, user.Hash) {
		http.Error(w, "invalid credentials", http.StatusUnauthorized)
	}
export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify({ ok: true, items: event.items }) });`

// scriptOutput is about size bytes as package managers, bundlers, test runners and compilers print them.
func scriptOutput(size int) string {
	lines := strings.Split(`
> shop@1.2.3 build
> vite build && tsc --noEmit
vite v5.4.10 building for production...
transforming (%d) src/components/Table/%d/useTokenRefresh.tsx
dist/assets/index-D%dXq_k2.js    143.%d kB │ gzip: 46.1%d kB
✓ %d modules transformed in %d ms
 PASS  src/auth/password.test.ts (5.%d s)
  ✓ refuses an empty password and keeps the session (%d ms)
  ✓ renews the access token when it is about to expire (%d ms)
src/app/main.ts:%d:%d - error TS2322: Type 'string | undefined' is not assignable to type 'Credentials'.
npm warn deprecated inflight@1.0.%d: This module is not supported, and leaks memory. Do not use it.
ok  	github.com/example/shop/internal/store/sql%d	0.%ds
2026-11-21T10:12:33.%dZ INFO server listening on http://localhost:%d (pid %d)
::1 - - [21/Nov/2026:10:12:%d +0000] "GET /api/items?page=%d HTTP/1.1" 200 %d "-" "Mozilla/5.0 (X11; Linux x86_64)"
warning: unused variable: %d --> src/main.rs:%d:9`, "\n")
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		line := lines[i%len(lines)]
		args := make([]any, strings.Count(line, "%d"))
		for n := range args {
			args[n] = (i*7 + n) % 997
		}
		fmt.Fprintf(&b, line+"\n", args...)
	}
	return b.String()
}

func BenchmarkText(b *testing.B) {
	r := redact.New(redact.Options{})
	for name, text := range map[string]string{"clean": mixed(10<<20, 0), "secret_per_36KB": mixed(10<<20, 36<<10), "script_output": scriptOutput(10 << 20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.Text(text)
			}
		})
	}
}

func BenchmarkTextKnown(b *testing.B) {
	r := redact.New(redact.Options{Known: knownValues()})
	text := mixed(10<<20, 36<<10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		redact.New(redact.Options{})
	}
}

// cleanJSON returns a result of about size bytes as tools give it.
func cleanJSON(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"item-%d","name":"the %d. thing","path":"src/app/main_%d.go","url":"https://example.com/%d","count":%d,"tokens":%d,"ok":true}`, i, i, i, i, i, i)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func BenchmarkJSON(b *testing.B) {
	r := redact.New(redact.Options{})
	for name, doc := range map[string][]byte{
		"clean_4KiB": cleanJSON(4 << 10), "clean_256KiB": cleanJSON(256 << 10),
		"dirty_4KiB":   []byte(`{"password":"x",` + string(cleanJSON(4 << 10)[1:])),
		"dirty_256KiB": []byte(`{"password":"x",` + string(cleanJSON(256 << 10)[1:])),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = r.JSON(doc)
			}
		})
	}
}

// TestCleanCostsNothing holds the budget of the path every call takes.
func TestCleanCostsNothing(t *testing.T) {
	r := redact.New(redact.Options{})
	known := redact.New(redact.Options{Known: knownValues()})
	text, doc := mixed(64<<10, 0), cleanJSON(4<<10)
	lines := strings.Split(text, "\n")
	assert.Zero(t, testing.AllocsPerRun(10, func() { r.Text(text) }), "clean text")
	assert.Zero(t, testing.AllocsPerRun(10, func() { known.Text(text) }), "clean text, known values")
	assert.Zero(t, testing.AllocsPerRun(10, func() { _, _, _ = r.JSON(doc) }), "clean document")
	assert.Zero(t, testing.AllocsPerRun(10, func() { _, _, _ = known.JSON(doc) }), "clean document, known values")
	assert.Zero(t, testing.AllocsPerRun(10, func() { redact.IsSecretKey("x-some_headerName") }), "a name")
	assert.Zero(t, testing.AllocsPerRun(10, func() { redact.StripControl(text) }), "clean text")
	assert.LessOrEqual(t, testing.AllocsPerRun(10, func() { r.Lines(lines) }), 1.0, "lines with keywords are joined once")
}
