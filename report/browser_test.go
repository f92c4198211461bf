package report

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
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

func TestTheReportOpensAtTheFirstViolation(t *testing.T) {
	o := open(t, failoverRun(), "")
	o.ready()
	from, to := o.shown()
	if from < 11 || from > 12.2 || to < 14.7 || to > 16 {
		t.Errorf("opens at %.2f to %.2f s, the violation is at 12.9 to 14.7 s", from, to)
	}
	if got := o.text("v-property") + " " + o.text("v-number"); got != "double-hold 1 of 2" {
		t.Errorf("opens at %q", got)
	}
	// The rings of the evidence alone are some hundred pixels; the outline and
	// the measure are thousands.
	if n := o.painted("over"); n < 2500 {
		t.Errorf("%d pixels show the violation", n)
	}
	if eval[float64](o, `document.getElementById('timeline').getBoundingClientRect().top`) > 900 {
		t.Error("the timeline is below the first screen")
	}
	o.sound()
}

func TestAnAddressCanNameAViolation(t *testing.T) {
	o := open(t, failoverRun(), "#v2")
	o.ready()
	if got := o.text("v-property"); got != "oversell" {
		t.Errorf("opens at %q", got)
	}
	o.sound()
}

func TestZoomAndPan(t *testing.T) {
	o := open(t, failoverRun(), "")
	o.ready()
	width := func() float64 { from, to := o.shown(); return to - from }
	before := width()
	for _, c := range []struct {
		name string
		do   func()
		more bool
	}{
		{"plus", func() { o.key("+") }, false},
		{"minus", func() { o.key("-") }, true},
		{"the wheel forward", func() { o.wheel(-300, 0) }, false},
		{"the wheel back", func() { o.wheel(300, 0) }, true},
		{"the button", func() { o.click("#zoomin") }, false},
		{"the button back", func() { o.click("#zoomout") }, true},
	} {
		c.do()
		now := width()
		if (now > before) != c.more || now == before {
			t.Errorf("%s: from %.3f s to %.3f s in view", c.name, before, now)
		}
		before = now
	}
	from, _ := o.shown()
	for _, c := range []struct {
		name  string
		do    func()
		later bool
	}{
		{"arrow right", func() { o.key(kb.ArrowRight) }, true},
		{"arrow left", func() { o.key(kb.ArrowLeft) }, false},
		{"dragging to the left", func() { o.drag(800, 500) }, true},
		{"dragging to the right", func() { o.drag(500, 800) }, false},
		{"the button", func() { o.click("#right") }, true},
	} {
		c.do()
		now, _ := o.shown()
		if (now > from) != c.later || now == from {
			t.Errorf("%s: from %.3f s to %.3f s", c.name, from, now)
		}
		from = now
	}
	o.key("0")
	if from, to := o.shown(); from > 0 || to < 20 {
		t.Errorf("0 shows %.2f to %.2f s of 20 s", from, to)
	}
	o.key("f")
	if got := width(); got > 6 {
		t.Errorf("f shows %.2f s", got)
	}
	o.sound()
}

// wheel turns the wheel over the middle of the timeline.
func (o *opened) wheel(dy, dx int) {
	o.t.Helper()
	o.js(fmt.Sprintf(`(() => { const c = document.getElementById('timeline'), r = c.getBoundingClientRect();
		c.dispatchEvent(new WheelEvent('wheel', {deltaY: %d, deltaX: %d, clientX: r.left + r.width / 2, clientY: r.top + 60, bubbles: true, cancelable: true})); })()`, dy, dx))
}

// drag moves the pointer over the timeline with the button down.
func (o *opened) drag(fromX, toX float64) {
	o.t.Helper()
	o.run(chromedp.ScrollIntoView(chromedp.CSS("#timeline")))
	y := eval[float64](o, `document.getElementById('timeline').getBoundingClientRect().top + 60`)
	o.run(chromedp.MouseEvent(chromedp.MousePressed, fromX, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, (fromX+toX)/2, y, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, toX, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, toX, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

func TestKeysJumpBetweenViolations(t *testing.T) {
	o := open(t, failoverRun(), "")
	o.ready()
	for _, c := range []struct{ key, want string }{{"n", "oversell"}, {"n", "double-hold"}, {"p", "oversell"}, {"p", "double-hold"}} {
		o.key(c.key)
		if got := o.text("v-property"); got != c.want {
			t.Errorf("%s shows %s, want %s", c.key, got, c.want)
		}
	}
	o.click("#next")
	if got := o.text("v-summary"); got != "sold 2 of 1 units of sku-2." {
		t.Errorf("next shows %q", got)
	}
	o.run(chromedp.Focus(chromedp.CSS("#key")), chromedp.KeyEvent("n"))
	if got := o.text("v-property"); got != "oversell" {
		t.Error("a letter typed into the filter jumps")
	}
	o.sound()
}

func TestOperationsShowTheirDetails(t *testing.T) {
	o := open(t, failoverRun(), "")
	o.ready()
	o.click("#v-evidence li:nth-child(3)")
	details := o.text("details")
	for _, want := range []string{"release by worker 4: refused", "stock:sku-2", "14.741 s", "not the owner", "part of sell"} {
		if !strings.Contains(details, want) {
			t.Errorf("details lack %q: %s", want, details)
		}
	}
	o.click("#details .steps button")
	if details := o.text("details"); !strings.HasPrefix(details, "sell by worker 4: ok") || !strings.Contains(details, "w4-17") {
		t.Errorf("the sell's details are %s", details)
	}
	o.key(kb.Escape)
	if !eval[bool](o, `document.getElementById('details').hidden`) {
		t.Error("Esc does not close the details")
	}
	o.key(".")
	if eval[bool](o, `document.getElementById('details').hidden`) {
		t.Error("the full stop does not take up an operation")
	}
	o.sound()
}

func TestClickingTheTimelinePicksAnOperation(t *testing.T) {
	o := open(t, failoverRun(), "")
	o.ready()
	o.run(chromedp.ScrollIntoView(chromedp.CSS("#timeline")))
	// The first ring of evidence is where worker 4 acquires, in the first lane
	// of a worker; the middle of the picture is where both hold.
	x := eval[float64](o, `document.getElementById('timeline').getBoundingClientRect().left + document.getElementById('timeline').clientWidth * 0.6`)
	y := eval[float64](o, `document.getElementById('timeline').getBoundingClientRect().top + 26 + 18 * 3 + 24 * 3 + 19`)
	o.run(chromedp.MouseClickXY(x, y))
	if details := o.text("details"); !strings.HasPrefix(details, "worker 4 believes that it holds stock:sku-2") || !strings.Contains(details, "12.104 s") {
		t.Errorf("details %q", details)
	}
	o.sound()
}

func TestFilters(t *testing.T) {
	o := open(t, failoverRun(), "")
	o.ready()
	all := o.painted("hold")
	o.run(chromedp.SendKeys(chromedp.CSS("#key"), "sku-1"))
	if n := o.painted("hold"); n >= all {
		t.Errorf("filtered by another key, %d of %d pixels show holds", n, all)
	}
	o.js(`{ const k = document.getElementById('key'); k.value = ''; k.dispatchEvent(new Event('input')); }`)
	if n := o.painted("hold"); n != all {
		t.Errorf("without a filter, %d of %d pixels show holds", n, all)
	}
	height := eval[int](o, `document.getElementById('scroll').clientHeight`)
	o.run(chromedp.SendKeys(chromedp.CSS("#workers"), "7"))
	o.settle()
	if h := eval[int](o, `document.getElementById('scroll').clientHeight`); h >= height {
		t.Errorf("filtered by one worker the timeline is %d high, before %d", h, height)
	}
	o.sound()
}

func TestHostileStringsAreShownAndNotRun(t *testing.T) {
	o := open(t, hostileRun(), "")
	o.ready()
	for _, k := range []string{"n", ".", ".", ".", "p", "0"} {
		o.key(k)
	}
	o.click("#v-evidence li")
	if got := eval[string](o, `String(window.hacked)`); got != "undefined" {
		t.Errorf("a string of the history ran: window.hacked is %s", got)
	}
	if n := eval[int](o, `document.querySelectorAll('script').length + 10 * document.querySelectorAll('img, iframe, object, embed').length`); n != 3 {
		t.Errorf("%d scripts and images in the page, want its own 3 scripts", n)
	}
	for _, id := range []string{"v-summary", "v-key", "v-cause", "replay", "details"} {
		if got := o.text(id); !strings.Contains(got, "</script><script>window.hacked=") {
			t.Errorf("%s does not show the string as it is: %.200s", id, got)
		}
	}
	o.sound()
}

func TestTheFrameStopsWhatEscapingMissed(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, failoverRun()); err != nil {
		t.Fatal(err)
	}
	evil := strings.Replace(b.String(), "<main>", `<main><script>window.hacked=1</script><img src="https://example.com/x.png" onerror="window.hacked=2"><style>h1{color:red}</style>`, 1)
	path := filepath.Join(t.TempDir(), "evil.html")
	if err := os.WriteFile(path, []byte(evil), 0o644); err != nil {
		t.Fatal(err)
	}
	o := openFile(t, "file://"+path)
	o.ready()
	if got := eval[string](o, `String(window.hacked)`); got != "undefined" {
		t.Errorf("the policy lets a foreign script run: %s", got)
	}
}

func TestTheReportWorksInTheSandboxOfServe(t *testing.T) {
	server := httptest.NewServer(Handler(os.DirFS(storeOfRuns(t))))
	defer server.Close()
	o := openFile(t, server.URL+"/store/"+oldRun+"/report.html")
	o.ready()
	o.key("n")
	if got := o.text("v-property"); got != "oversell" {
		t.Errorf("n shows %q", got)
	}
	if got := eval[string](o, `self.origin`); got != "null" {
		t.Errorf("a page of the store has the origin %s", got)
	}
	o.soundOn(server.URL)
}

func TestTheListWorksWithoutScript(t *testing.T) {
	server := httptest.NewServer(Handler(os.DirFS(storeOfRuns(t))))
	defer server.Close()
	o := openFile(t, server.URL+"/")
	o.js(`{ document.querySelector('select[name=design]').value = 'redis-lock'; }`)
	o.click("form.filter button")
	o.run(chromedp.WaitReady(chromedp.CSS(`option[selected]`)))
	if got := eval[string](o, `document.querySelector('tbody').textContent`); !strings.Contains(got, "redis-lock") || strings.Contains(got, "lua-stock") {
		t.Errorf("the filter lets through %s", got)
	}
	o.soundOn(server.URL)
}

func TestDarkPages(t *testing.T) {
	o := open(t, failoverRun(), "")
	o.ready()
	light := o.painted("paper")
	call(o, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	o.settle()
	if got := eval[string](o, `getComputedStyle(document.body).backgroundColor`); got != "rgb(20, 23, 27)" {
		t.Errorf("in dark mode the page is %s", got)
	}
	if n := o.painted("paper"); n < light/2 {
		t.Errorf("in dark mode %d pixels of the timeline are dark paper, %d were light", n, light)
	}
	o.sound()
}

func TestAValidRunOpensAtTheWholeRun(t *testing.T) {
	o := open(t, validRun(), "")
	o.ready()
	if from, to := o.shown(); from != 0 || to < 0.003 {
		t.Errorf("shows %f to %f s", from, to)
	}
	o.sound()
}

func TestARunWithoutHistoryHasNoTimeline(t *testing.T) {
	r := failoverRun()
	r.History = nil
	o := open(t, r, "")
	if !eval[bool](o, `document.getElementById('stage').hidden`) {
		t.Error("there is a timeline")
	}
	o.sound()
}
