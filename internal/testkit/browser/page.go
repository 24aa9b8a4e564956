package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Page is one open page. What cannot be done on it within half a minute fails the test.
type Page struct {
	t     testing.TB
	ctx   context.Context //nolint:containedctx // it is the page
	shots string
	axe   string
	watch *watcher
}

// Page opens an address in a tab of its own, which is closed with the test.
func (b *Browser) Page(t testing.TB, url string) *Page {
	t.Helper()
	w := &watcher{}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithListener(w.hear))
	t.Cleanup(cancel)
	p := &Page{t: t, ctx: ctx, shots: b.shots, axe: b.axe, watch: w}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("a tab cannot be opened: %v", err)
	}
	t.Cleanup(p.wellBehaved) // before the tab is closed
	p.Go(url)
	return p
}

// Go opens another address in the same tab and waits until it is there.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.watch.home(url)
	p.do("open "+url, chromedp.Navigate(url))
}

// Reload opens the same address anew.
func (p *Page) Reload() {
	p.t.Helper()
	p.do("reload", chromedp.Reload())
}

// Eval computes a JavaScript expression on the page, awaits it when it is a promise, and decodes its JSON into into, which may be nil.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	doc, err := p.eval(expression)
	if err == nil && into != nil {
		err = json.Unmarshal([]byte(doc), into)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

// Click presses the first element in sight that the CSS selector fits, with the mouse, once it can be pressed.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.press("document.querySelectorAll("+quoted(selector)+")", selector)
}

// Press presses the first button or link in sight that users know by that name: its label for screen readers, or its text.
func (p *Page) Press(name string) {
	p.t.Helper()
	p.press("[...document.querySelectorAll('button, a[href], summary')].filter((e) => (e.getAttribute('aria-label') || e.innerText || '').trim() === "+quoted(name)+")", name)
}

// Type presses the keys of a text into the field that the CSS selector fits, after what is in it.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.Click(selector)
	p.WaitFor("document.activeElement && document.activeElement.matches(" + quoted(selector) + ")")
	p.Keys(text)
}

// Choose has a select show the choice of that value.
func (p *Page) Choose(selector, value string) {
	p.t.Helper()
	p.WaitFor("!!document.querySelector(" + quoted(selector) + ")") // a page that was just followed to may still be read
	p.Eval("(() => { const s = document.querySelector("+quoted(selector)+"); s.value = "+quoted(value)+"; s.dispatchEvent(new Event('change', {bubbles: true})); })()", nil)
}

// Keys presses keys where the focus is. Special keys are those of chromedp's package kb; "\t" is the tabulator and "\r" is enter.
func (p *Page) Keys(keys string) {
	p.t.Helper()
	p.do("type", chromedp.KeyEvent(keys))
}

// Focus returns what has the focus, as users know it: its label, its name or its text.
func (p *Page) Focus() string {
	p.t.Helper()
	var name string
	p.look("(() => { const e = document.activeElement; return (e.getAttribute('aria-label') || (e.labels && e.labels[0] ? e.labels[0].innerText : '') || e.innerText || e.tagName).trim(); })()", &name)
	return name
}

// Text returns what users read in the first element that the CSS selector fits; empty when there is none.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var text string
	p.look(reading(selector), &text)
	return text
}

// Count returns how many elements the CSS selector fits.
func (p *Page) Count(selector string) int {
	p.t.Helper()
	var n int
	p.look("document.querySelectorAll("+quoted(selector)+").length", &n)
	return n
}

// Address returns the path of the page, with its parameters.
func (p *Page) Address() string {
	p.t.Helper()
	var path string
	p.look("location.pathname + location.search", &path)
	return path
}

// WaitText waits until the first element that the CSS selector fits reads want, among other things.
func (p *Page) WaitText(selector, want string) {
	p.t.Helper()
	last := ""
	p.until(func() error {
		doc, err := p.eval(reading(selector))
		if err == nil {
			err = json.Unmarshal([]byte(doc), &last)
		}
		if err == nil && !strings.Contains(last, want) {
			err = errNotYet
		}
		return err
	}, func() string { return fmt.Sprintf("%s never read %q; it reads %q", selector, want, last) })
}

// WaitFor waits until a JavaScript expression is true.
func (p *Page) WaitFor(expression string) {
	p.t.Helper()
	p.until(func() error {
		if doc, err := p.eval("!!(" + expression + ")"); err != nil || doc != "true" {
			return errors.Join(errNotYet, err)
		}
		return nil
	}, func() string { return expression + " was never true" })
}

// Dark has the page believe that its user prefers dark colours, or light ones.
func (p *Page) Dark(dark bool) {
	p.t.Helper()
	value := map[bool]string{true: "dark", false: "light"}[dark]
	p.again("prefer colours", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}})
		return err
	})
}

// Notifications has the user allow notifications of the page's server, or not, as browsers ask them to.
func (p *Page) Notifications(allowed bool) {
	p.t.Helper()
	setting := cdpbrowser.PermissionSettingDenied
	if allowed {
		setting = cdpbrowser.PermissionSettingGranted
	}
	p.again("allow notifications", func(ctx context.Context) error {
		_, err := chromedp.CallBrowser(ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{Permission: &cdpbrowser.PermissionDescriptor{Name: "notifications"},
			Setting: setting, BrowserContextID: chromedp.FromContext(ctx).BrowserContextID})
		return err
	})
}

// Scripts turns the page's scripts off or on, from the next address on.
func (p *Page) Scripts(on bool) {
	p.t.Helper()
	p.again("scripts", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// Narrow makes the window as wide as a telephone's, or wide again. The test fails when the page has to be scrolled sideways then: what is wider than the
// window scrolls within the page.
func (p *Page) Narrow(narrow bool) {
	p.t.Helper()
	width := map[bool]int64{true: 390, false: 1280}[narrow]
	p.again("width", func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.EmulateViewport(width, 1000)) })
	wide := ""
	p.until(func() error {
		said, err := p.eval(`(() => { const page = document.documentElement;
			const within = e => e && e !== document.body && (getComputedStyle(e).overflowX !== "visible" || within(e.parentElement));
			return page.scrollWidth <= page.clientWidth ? "" : [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > page.clientWidth &&
				!within(e.parentElement)).slice(0, 5).map(e => e.outerHTML.slice(0, 200)).join("\n") || "something"; })()`)
		if wide = said; err == nil && said != `""` {
			err = errNotYet
		}
		return err
	}, func() string { return "the page has to be scrolled sideways, because of " + wide })
}

// Shot keeps a picture of the whole page as NAME.png, where CONSOLE_SHOTS says, and gives its path.
func (p *Page) Shot(name string) string {
	p.t.Helper()
	var picture []byte
	p.again("picture "+name, func(ctx context.Context) (err error) {
		picture, err = chromedp.Run(ctx, chromedp.FullScreenshot(100))
		return err
	})
	path := filepath.Join(p.shots, fileName(name)+".png")
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		p.t.Fatalf("picture %s: %v", name, err)
	}
	return path
}

var errNotYet = errors.New("not yet")

func (p *Page) eval(expression string) (string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => JSON.stringify((await ("+expression+")) ?? null))()", chromedp.EvalAwaitPromise))
}

// press clicks the middle of the first element of a list that is in sight, can be pressed, and has nothing above it.
// A page that came to rest may still be exchanged just before it is pressed: then it takes no press and says so, and it is pressed again, as users do.
func (p *Page) press(list, name string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; {
		var choosy bool
		p.look(`(() => { const said = document.getElementById("said"); if (said) said.textContent = ""; return !!document.querySelector("button[data-patience]"); })()`, &choosy)
		p.pressOnce(list, name)
		if !choosy {
			return
		}
		var said string
		p.look(`(document.getElementById("said") || {}).textContent || ""`, &said)
		if said != "The page just changed. Check it, then press again." {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s could not be pressed: the page kept changing", name)
		}
	}
}

func (p *Page) pressOnce(list, name string) {
	p.t.Helper()
	type place struct{ X, Y float64 }
	var before, at *place
	p.until(func() error {
		doc, err := p.eval(`(() => { if (document.readyState !== "complete") return null; for (const e of ` + list + `) {
			if (e.dataset.patience && "held" in document.body.dataset) continue;
			if (e.disabled || !e.checkVisibility() || getComputedStyle(e).cursor === "wait") continue;
			e.scrollIntoView({block: "center", behavior: "instant"});
			const b = e.getBoundingClientRect(), x = b.left + b.width / 2, y = b.top + b.height / 2, top = document.elementFromPoint(x, y);
			if (top && (e.contains(top) || top.contains(e))) return {X: x, Y: y};
		} return null; })()`)
		if before, at = at, nil; err == nil {
			err = json.Unmarshal([]byte(doc), &at)
		}
		if err == nil && (at == nil || before == nil || *before != *at) { // what still moves is not where it was seen
			err = errNotYet
		}
		return err
	}, func() string { return "there was nothing to press that is called " + name })
	p.do("press "+name, chromedp.MouseClickXY(at.X, at.Y))
}

// until repeats what fails until it does not. Pages that are just being exchanged fail, too.
func (p *Page) until(try func() error, otherwise func() string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(pace) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) || p.ctx.Err() != nil {
			p.t.Fatalf("%s (%v)", otherwise(), err)
		}
	}
}

// look is Eval for an expression that changes nothing, so that it can be computed again.
func (p *Page) look(expression string, into any) {
	p.t.Helper()
	p.until(func() error {
		doc, err := p.eval(expression)
		if err == nil {
			err = json.Unmarshal([]byte(doc), into)
		}
		return err
	}, func() string { return "nobody could see " + expression })
}

// again does what can be done twice until it is done: on a page that is just being exchanged it fails.
func (p *Page) again(what string, f func(context.Context) error) {
	p.t.Helper()
	p.until(func() error {
		ctx, cancel := context.WithTimeout(p.ctx, attempt)
		defer cancel()
		return f(ctx)
	}, func() string { return what })
}

func (p *Page) do(what string, a chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.call(what, func(ctx context.Context) error { return chromedp.Do(ctx, a) })
}

func (p *Page) call(what string, f func(context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := f(ctx); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

func reading(selector string) string {
	return "(document.querySelector(" + quoted(selector) + ") || {innerText: ''}).innerText"
}

// quoted returns a text as JavaScript writes it.
func quoted(s string) string {
	doc, err := json.Marshal(s)
	if err != nil { // of a string it never is
		return strconv.Quote(s)
	}
	return string(doc)
}
