package report

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// page is all that the template of report.html shows.
type page struct {
	frame
	Run        Run
	Title      string
	Outcome    checker.Outcome
	Source     string
	Levels     []levelView
	Balance    string
	Zombie     string // for how long keys were refused though free
	Sold       soldBar
	Violations []violation // at most maxTold
	Total      int
	Settings   []pair
	Lock       []string // what the lock promises, in plain words
	Stock      []chart
	StockKeys  int
	Speed      []chart
	Outcomes   []outcomeRow
	Faults     []faultView
	Workers    int
	LeftOut    []string      // what a summarised page does not show
	Data       template.JS   // for the timeline: see data
	Operations template.HTML // base64 of columns; no character of it is special in HTML
}

// levelView is one level with its verdict in plain words.
type levelView struct {
	Name    checker.Level
	Outcome checker.Outcome
	Text    string
}

// soldBar is units sold beside units had, in shares of the larger.
type soldBar struct {
	Show        bool
	Sold, Had   int64
	SoldX, HadX float64 // per cent
	WithinX     float64 // per cent: where the units that did not exist begin
	OverX       float64
}

type pair struct{ Name, Value string }

// outcomeRow counts the ways in which one kind of operation ended.
type outcomeRow struct {
	F    string
	Ends []pair
	All  int
}

// faultView is one line of the list of faults.
type faultView struct {
	At, What, For, Proof string
	Unproven             bool // a fault without proof that it bit
}

// data is what the timeline's script reads besides the operations.
type data struct {
	End        int64               `json:"end"` // ns
	TTL        int64               `json:"ttl"`
	Workers    []histories.Process `json:"workers"`
	Nodes      []node              `json:"nodes"`
	Bands      []band              `json:"bands"`
	Violations []violation         `json:"violations"`
	Functions  []string            `json:"functions"`
	Fields     []string            `json:"fields"`
	Windows    []window            `json:"windows"` // null: all operations are there
	Bucket     float64             `json:"bucket"`  // ns: length of one bucket, if there are windows
	Phases     []band              `json:"phases"`
	Density    []int64             `json:"density"` // operations by equal stretches of time
}

// maxTold is how many violations a page tells in full. The verdict counts all.
const maxTold = 200

// newPage works out everything that the page shows.
func newPage(r Run) (page, error) {
	v := r.Verdict
	p := page{
		Run: r, Title: title(r.Header.Design, r.Header.Nemesis), Outcome: v.Outcome, Source: r.source(),
		Balance: balance(v.Counts), Zombie: zombieText(v.Zombie), Sold: newSoldBar(v.Counts), Total: total(v),
		Settings: settingsOf(r.Header), Lock: lockWords(r.Header.Lock), Outcomes: outcomeRows(v.Counts.Outcomes),
	}
	for _, l := range levels {
		if o, judged := levelOutcome(l, v); judged {
			p.Levels = append(p.Levels, levelView{l, o, levelText(l, v)})
		}
	}
	h := r.History
	if h == nil {
		h = &histories.History{Header: r.Header}
	}
	told := v.Violations[:min(len(v.Violations), maxTold)]
	p.Violations = tell(h, told)
	bands, nodes := p.drawn(h, told)
	p.Faults = faultViews(h, bands)
	p.Stock, p.Speed = chartsOf(h, v, bands)
	_, p.StockKeys = ledgersOf(h, v.Violations)
	return p, p.timeline(h, bands, nodes)
}

// timeline adds what the script draws.
func (p *page) timeline(h *histories.History, bands []band, nodes []node) error {
	d := data{
		End: h.End, TTL: int64(h.Header.Lock.TTL), Workers: workersIn(h), Nodes: nodes, Bands: bands,
		Violations: p.Violations, Functions: functions, Phases: phasesOf(h), Density: density(h),
	}
	p.Workers = len(d.Workers)
	for _, f := range fields {
		d.Fields = append(d.Fields, f.name)
	}
	holds := holdsOf(h)
	chosen := selectOps(h, p.Run.Verdict.Violations[:len(p.Violations)], maxFull)
	set := newColumnSet()
	set.addOps(h, chosen.ops)
	if chosen.windows != nil {
		b := bucketsOf(h, d.Workers, holds)
		d.Windows, d.Bucket = chosen.windows, b.Width
		set.addBuckets(b)
		p.LeftOut = append(p.LeftOut, leftOut(h, chosen))
		holds = slices.DeleteFunc(holds, func(k hold) bool {
			return !touchesAny(chosen.windows, &histories.Op{Call: k.From, Return: k.To})
		})
	}
	set.addHolds(holds)
	packed, err := set.encode()
	if err != nil {
		return err
	}
	p.Operations = template.HTML(packed)
	p.Data, err = scriptJSON(d)
	return err
}

// leftOut says what a summarised page does not have.
func leftOut(h *histories.History, s selection) string {
	return fmt.Sprintf("This history has %s, too many for one page. %s are here one by one, in %s around the violations; the other %s are shown as counts only. The verdict was reached on all of them, and history.jsonl has them all.",
		plural(len(h.Ops), "operation"), count(len(s.ops)), plural(len(s.windows), "window"), count(len(h.Ops)-len(s.ops)))
}

func newSoldBar(c checker.Counts) soldBar {
	most := float64(max(c.Sold, c.Had, 1))
	share := func(n int64) float64 { return 100 * float64(n) / most }
	return soldBar{c.Sold+c.Had > 0, c.Sold, c.Had, share(c.Sold), share(c.Had), share(c.Sold - c.Oversold), share(c.Oversold)}
}

// settingsOf lists the settings by name.
func settingsOf(h histories.Header) []pair {
	var list []pair
	for _, name := range slices.Sorted(maps.Keys(h.Settings)) {
		list = append(list, pair{name, h.Settings[name]})
	}
	return list
}

// lockWords says what the lock under test promises.
func lockWords(l histories.LockSpec) []string {
	if l.None {
		return []string{"The design uses no lock."}
	}
	said := func(yes bool, a, b string) string {
		if yes {
			return a
		}
		return b
	}
	lease := "A grant lasts until it is released; there is no TTL."
	if l.TTL > 0 {
		lease = "A grant lasts " + span(int64(l.TTL)) + " unless it is renewed (TTL)."
	}
	return []string{
		lease,
		said(l.Deadline, "Workers are shown the deadline and stop believing when it passes.", "Workers are shown no deadline: they believe that they hold until they release."),
		said(l.Notice, "A worker is told when its lock is lost.", "A worker is not told when its lock is lost."),
		said(l.Fenced, "Grants carry a fencing number.", "Grants carry no fencing number."),
	}
}

// outcomeRows turns "sell fail busy" → 7 into a table.
func outcomeRows(outcomes map[string]int) []outcomeRow {
	rows := map[string]*outcomeRow{}
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		f, end, _ := strings.Cut(name, " ")
		if rows[f] == nil {
			rows[f] = &outcomeRow{F: f}
		}
		rows[f].Ends = append(rows[f].Ends, pair{end, count(outcomes[name])})
		rows[f].All += outcomes[name]
	}
	var list []outcomeRow
	for _, f := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[f])
	}
	return list
}

// faultViews lists the faults with what each did.
func faultViews(h *histories.History, bands []band) []faultView {
	var list []faultView
	for _, b := range bands {
		f := faultView{At: clock(b.From), What: b.Label, Proof: b.Proof}
		if !b.Moment {
			f.For = span(b.To - b.From)
		}
		if note := h.Marks[b.Mark].Note; note != "" && f.Proof == "" {
			f.Proof = note
		}
		k, fault := h.Marks[b.Mark].Kind()
		f.Unproven = f.Proof == "" && fault && !k.Undoes
		list = append(list, f)
	}
	return list
}

// workersIn are the workers of a history by number.
func workersIn(h *histories.History) []histories.Process {
	seen := map[histories.Process]bool{}
	for i := range h.Ops {
		if h.Ops[i].Process >= 0 {
			seen[h.Ops[i].Process] = true
		}
	}
	list := make([]histories.Process, 0, len(seen)) // the page reads no null
	for w := range seen {
		list = append(list, w)
	}
	slices.Sort(list)
	return list
}

// phasesOf are the phases of a run as bands.
func phasesOf(h *histories.History) []band {
	list := []band{}
	for i, e := range h.Marks {
		if e.F != histories.Phase {
			continue
		}
		if n := len(list); n > 0 {
			list[n-1].To = e.Time
		}
		list = append(list, band{From: e.Time, To: h.End, F: e.F, Label: e.Note, Mark: i})
	}
	return list
}

// density counts operations by equal stretches of the run.
func density(h *histories.History) []int64 {
	const n = 400
	counts := make([]int64, n)
	for i := range h.Ops {
		counts[min(n-1, int(float64(h.Ops[i].Call)/float64(max(1, h.End))*n))]++
	}
	return counts
}
