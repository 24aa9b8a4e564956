// Package browser drives a headless Chromium for tests of pages: it opens pages, presses keys, types, waits, takes screenshots, and runs axe.
//
// A failing script, a violation of the content security policy, and a request to any other server fail the test.
package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// How long something on a page is waited for, and how often it is looked for. Machines that test are busy.
const (
	patience = 2 * time.Minute
	attempt  = patience / 4 // of one try: a picture that Chromium never finishes is taken again
	pace     = 10 * time.Millisecond
)

// Browser is a running Chromium, or a profile of its own within one. Open makes it.
type Browser struct {
	ctx   context.Context //nolint:containedctx // it is the browser
	shots string
	axe   string // path of axe-core
}

// Open starts a Chromium that ends with the test. The test is skipped, by the name of what is missing, where there is none, or no
// axe-core. The environment variable CHROMIUM may name the program.
func Open(t testing.TB) *Browser {
	t.Helper()
	path := program()
	if path == "" {
		t.Skip("chromium is not installed")
	}
	script := axeScript()
	if script == "" {
		t.Skip("axe-core is not installed (AXE_CORE)") // here, and not when a test is half-way
	}
	driving.take(t)
	opts := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.WindowSize(1280, 1000), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("lang", "en-US"), chromedp.Flag("hide-scrollbars", true),
	})
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	outer, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(outer, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the program to end
		cancel()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return &Browser{ctx: ctx, shots: shots(t), axe: script}
}

// turns counts this process's open browsers: while there is one, it holds the machine's lock.
type turns struct {
	mu       sync.Mutex
	browsers int
	lock     *os.File
}

var driving = new(turns)

// take waits until no other process's tests drive a browser, and keeps them waiting until the test ends: two at a time, on a machine that also
// tests everything else, are slow enough to look broken. Tests of one process drive theirs side by side.
func (d *turns) take(t testing.TB) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.browsers == 0 {
		file, err := os.OpenFile(filepath.Join(os.TempDir(), "countersign-browser.lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatalf("other tests' browsers cannot be waited for: %v", err)
		}
		for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
			err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		}
		if err != nil {
			t.Fatalf("other tests' browsers cannot be waited for: %v", err)
		}
		d.lock = file
	}
	d.browsers++
	t.Cleanup(d.give)
}

func (d *turns) give() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.browsers--; d.browsers == 0 {
		_ = d.lock.Close() // which lets another process go on
	}
}

// Apart is another profile in the same browser, with cookies of its own: another user at another machine.
func (b *Browser) Apart(t testing.TB) *Browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("another profile cannot be opened: %v", err)
	}
	return &Browser{ctx: ctx, shots: b.shots, axe: b.axe}
}

func program() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// shots returns where pictures go: a directory for the package's test in CONSOLE_SHOTS, so that they are kept, or one that goes with the test.
func shots(t testing.TB) string {
	t.Helper()
	kept := os.Getenv("CONSOLE_SHOTS")
	if kept == "" {
		return t.TempDir()
	}
	dir := filepath.Join(kept, fileName(strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")), fileName(t.Name()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatalf("pictures cannot be kept: %v", err)
	}
	return dir
}

// fileName returns a name with nothing in it that a path could stumble over.
func fileName(name string) string {
	return regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(name, "_")
}
