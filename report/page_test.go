package report

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

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
