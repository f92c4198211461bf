package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is one Chromium for all tests; nil if there is none.
var browser struct {
	once   sync.Once
	ctx    context.Context
	cancel func()
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.cancel != nil {
		browser.cancel()
	}
	os.Exit(code)
}

// startBrowser starts Chromium, or says why it cannot.
func startBrowser() {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		browser.err = fmt.Errorf("no Chromium: apt-get install chromium")
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.WindowSize(1400, 1000))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	browser.ctx, browser.cancel = ctx, func() { cancel(); stop() }
	browser.err = chromedp.Do(ctx)
}

// opened is a report in a browser tab, and what the tab complained about.
type opened struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string
	requests []string
}

// open shows a run's report. The test ends if there is no browser.
func open(t testing.TB, r Run, hash string) *opened {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return openFile(t, "file://"+path+hash)
}

func openFile(t testing.TB, address string) *opened {
	t.Helper()
	browser.once.Do(startBrowser)
	if browser.err != nil {
		t.Skip(browser.err)
	}
	tab, cancel := chromedp.NewContext(browser.ctx)
	ctx, stop := context.WithTimeout(tab, 60*time.Second)
	t.Cleanup(func() { stop(); cancel() })
	o := &opened{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, o.listen); err != nil {
		t.Fatal(err)
	}
	call(o, network.Enable, network.EnableParams{})
	call(o, log.Enable, cdp.Empty{})
	o.run(chromedp.Navigate(address))
	return o
}

// listen collects what a sound page does not do.
func (o *opened) listen(event any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		o.problems = append(o.problems, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		o.problems = append(o.problems, fmt.Sprintf("console.%s: %d values", e.Type, len(e.Args)))
	case *log.EventEntryAdded:
		o.problems = append(o.problems, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		o.requests = append(o.requests, e.Request.URL)
	}
}

func (o *opened) run(actions ...chromedp.Action[chromedp.Void]) {
	o.t.Helper()
	if err := chromedp.Do(o.ctx, actions...); err != nil {
		o.t.Fatal(err)
	}
}

// call sends one command of the protocol.
func call[P, R any](o *opened, command cdp.Command[P, R], params P) {
	o.t.Helper()
	if _, err := chromedp.Call(o.ctx, command, params); err != nil {
		o.t.Fatal(err)
	}
}

func (o *opened) click(selector string) {
	o.t.Helper()
	o.run(chromedp.Click(chromedp.CSS(selector)))
}

// js runs a script in the page.
func (o *opened) js(script string) {
	o.t.Helper()
	o.run(chromedp.Evaluate[chromedp.Void](script))
}

// ready waits until the timeline is drawn.
func (o *opened) ready() {
	o.t.Helper()
	o.run(chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
}

// eval is the value of an expression in the page.
func eval[T any](o *opened, expression string) T {
	o.t.Helper()
	v, err := chromedp.Run(o.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		o.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (o *opened) text(id string) string {
	o.t.Helper()
	return eval[string](o, fmt.Sprintf("document.getElementById(%q).textContent", id))
}

// shown is the stretch of time in view, in seconds.
func (o *opened) shown() (from, to float64) {
	o.t.Helper()
	o.settle()
	text := o.text("range")
	if _, err := fmt.Sscanf(text, "%f s – %f s", &from, &to); err != nil {
		o.t.Fatalf("range %q: %v", text, err)
	}
	return from, to
}

// settle waits for the next two frames, in which the page draws what changed.
func (o *opened) settle() {
	o.t.Helper()
	_, err := chromedp.Run(o.ctx, chromedp.Evaluate[bool](`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		o.t.Fatal(err)
	}
}

// key presses a key on the timeline.
func (o *opened) key(k string) {
	o.t.Helper()
	o.run(chromedp.Focus(chromedp.CSS("#timeline")), chromedp.KeyEvent(k))
}

// sound fails the test if the page made a request or complained.
func (o *opened) sound() {
	o.t.Helper()
	o.soundOn("file://")
}

// soundOn is sound for a page that came from a server.
func (o *opened) soundOn(own string) {
	o.t.Helper()
	o.settle()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.problems {
		o.t.Errorf("the console is not clean: %.300s", p)
	}
	for _, r := range o.requests {
		if !strings.HasPrefix(r, own) && !strings.HasPrefix(r, "data:") {
			o.t.Errorf("the page asks the network for %s", r)
		}
	}
	if len(o.requests) == 0 {
		o.t.Error("not even the page itself was requested: nothing was watched")
	}
}

// painted counts the pixels of the timeline in a colour of the style sheet.
func (o *opened) painted(colour string) int {
	o.t.Helper()
	o.settle()
	return eval[int](o, `(() => {
		const c = document.getElementById('timeline'), copy = document.createElement('canvas');
		copy.width = c.width;
		copy.height = c.height;
		const g = copy.getContext('2d', {willReadFrequently: true});
		g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--`+colour+`').trim();
		g.fillRect(0, 0, 1, 1);
		const want = g.getImageData(0, 0, 1, 1).data;
		g.drawImage(c, 0, 0);
		const data = g.getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < data.length; i += 4) if (data[i] === want[0] && data[i + 1] === want[1] && data[i + 2] === want[2]) n++;
		return n;
	})()`)
}
