package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/lockcheck/lockcheck/checker"
)

// mebibyte is the unit in which the sizes of pages are promised.
const mebibyte = 1 << 20

func TestAPageOfAHundredThousandOperationsIsBelowThreeMegabytes(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, shop(100_000, 50, 1)); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 3_000_000 {
		t.Errorf("%d bytes", b.Len())
	}
	if bytes.Contains(b.Bytes(), []byte(`id="leftout"`)) {
		t.Error("the page leaves operations out")
	}
}

// large is a history that no page can carry in full.
func large() Run { return shop(maxFull+30_000, 20, 7) }

func TestALargeHistoryKeepsWhatProvesItsViolations(t *testing.T) {
	r := large()
	s := selectOps(r.History, r.Verdict.Violations, maxFull/10)
	if len(s.ops) > maxFull/10+10 || len(s.ops) < maxFull/40 {
		t.Errorf("%d operations kept, the limit is %d", len(s.ops), maxFull/10)
	}
	kept := map[int64]bool{}
	for _, i := range s.ops {
		kept[r.History.Ops[i].ID] = true
	}
	v := r.Verdict.Violations[0]
	for _, id := range v.Ops {
		if !kept[id] {
			t.Errorf("operation %d, which is to blame, is left out", id)
		}
	}
	for i := range r.History.Ops {
		op := &r.History.Ops[i]
		if op.Return >= v.From && op.Call <= v.To && !kept[op.ID] {
			t.Errorf("operation %d happened during the violation and is left out", op.ID)
		}
	}
}

func TestAViolationOverTheWholeRunDoesNotFillThePage(t *testing.T) {
	r := large()
	v := r.Verdict.Violations[0]
	v.From, v.To = 0, r.History.End
	if n := len(selectOps(r.History, []checker.Violation{v}, 5000).ops); n > 5010 || n < 1000 {
		t.Errorf("%d operations kept, the limit is 5000", n)
	}
}

func TestEvidenceIsKeptEvenWhereThereIsNoRoom(t *testing.T) {
	r := large()
	var all []checker.Violation
	for i := 0; i < len(r.History.Ops); i += len(r.History.Ops) / 60 {
		op := &r.History.Ops[i]
		all = append(all, checker.Violation{Ops: []int64{op.ID}, From: op.Call, To: op.Call})
	}
	kept := map[int64]bool{}
	for _, i := range selectOps(r.History, all, 20).ops {
		kept[r.History.Ops[i].ID] = true
	}
	for _, v := range all {
		if !kept[v.Ops[0]] {
			t.Errorf("operation %d, which is to blame, is left out", v.Ops[0])
		}
	}
}

func TestAroundJoinsWindowsThatMeet(t *testing.T) {
	got := fmt.Sprint(around([]int64{5, 100, 110, 130}, 10, 135))
	if want := "[{0 15} {90 135}]"; got != want {
		t.Errorf("windows %s, want %s", got, want)
	}
}

func TestBucketsCountEveryOperationOnce(t *testing.T) {
	r := shop(5000, 10, 3)
	workers := workersIn(r.History)
	b := bucketsOf(r.History, workers, holdsOf(r.History))
	total := int64(0)
	for i := range b.Counts {
		for j := range b.Counts[i] {
			total += b.Counts[i][j]
			if b.Held[i][j] < 0 || b.Held[i][j] > 1000 {
				t.Fatalf("%d thousandths held", b.Held[i][j])
			}
		}
	}
	if total != int64(len(r.History.Ops)) {
		t.Errorf("%d operations in buckets, %d in the history", total, len(r.History.Ops))
	}
}

func TestALargePageSaysWhatItLeftOut(t *testing.T) {
	o := open(t, large(), "")
	o.ready()
	if got := o.text("leftout"); got == "" {
		t.Error("it does not say what it left out")
	}
	if n := o.painted("over"); n < 100 {
		t.Errorf("%d pixels show the violation", n)
	}
	o.key("0")
	if n := o.painted("hold"); n < 1000 {
		t.Errorf("%d pixels show holds where operations are counts", n)
	}
	o.sound()
}

// computed is how long the page's thread has been computing, in ms.
func (o *opened) computed() float64 {
	o.t.Helper()
	got, err := chromedp.Call(o.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		o.t.Fatal(err)
	}
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value * 1000
		}
	}
	o.t.Fatal("the browser does not tell")
	return 0
}

// BenchmarkPage measures writing a page, and its size.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		r := shop(n, 50, 1)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			size := 0
			for b.Loop() {
				var page bytes.Buffer
				if err := HTML(&page, r); err != nil {
					b.Fatal(err)
				}
				size = page.Len()
			}
			b.ReportMetric(float64(size)/mebibyte, "MiB")
		})
	}
}

// BenchmarkOpen measures how long Chromium takes from the request for the
// page until the violation is drawn: in real time, and as the time that the
// page's own thread was computing, which other load on the machine does not
// lengthen.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		var page bytes.Buffer
		if err := HTML(&page, shop(n, 50, 1)); err != nil {
			b.Fatal(err)
		}
		path := filepath.Join(b.TempDir(), "report.html")
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			total, busy := 0.0, 0.0
			for b.Loop() {
				o := openFile(b, "about:blank")
				call(o, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
				before := o.computed()
				o.run(chromedp.Navigate("file://" + path))
				o.ready()
				busy += o.computed() - before
				total += eval[float64](o, `Number(document.documentElement.dataset.ready)`)
			}
			b.ReportMetric(total/float64(b.N), "ms-to-violation")
			b.ReportMetric(busy/float64(b.N), "ms-computing")
		})
	}
}
