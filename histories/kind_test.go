package histories

import (
	"os"
	"strings"
	"testing"
)

// The page about faults has every kind and every role.
func TestThePageOfFaultsIsWhole(t *testing.T) {
	page, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds, roles, _ := strings.Cut(string(page), "## Roles")
	for _, k := range Kinds {
		if !strings.Contains(kinds, "| "+k.Name+" |") && !strings.Contains(kinds, "| "+k.Name+",") && !strings.Contains(kinds, ", "+k.Name+" |") {
			t.Errorf("docs/faults.md has no row for the kind %s", k.Name)
		}
	}
	for _, r := range Roles {
		if !strings.Contains(roles, "`"+r.Name+"`") {
			t.Errorf("docs/faults.md does not say what %s stands for", r.Name)
		}
	}
}

func TestFaultsThatSayTooLittleAreRefused(t *testing.T) {
	worker, server := []string{"worker-0"}, []string{"redis-1"}
	for name, test := range map[string]struct {
		right, bad Fault
		want       string
	}{
		"a fault":           {Fault{F: Heal}, Fault{}, "no fault"},
		"a known one":       {Fault{F: Kill, Targets: server}, Fault{F: "kil", Targets: server}, `did you mean "kill"?`},
		"a target":          {Fault{F: Partition, From: server}, Fault{F: Partition, To: server}, "want targets or from"},
		"a mode":            {Fault{F: Start, Targets: server, Mode: ModeEmpty}, Fault{F: Start, Targets: server, Mode: ModeHost}, `start has no mode "host"`},
		"a step of a delay": {Fault{F: Delay, Targets: worker, Step: StepCommit}, Fault{F: Delay, Targets: worker}, "a delay needs a step"},
		"a worker":          {Fault{F: Crash, Targets: worker}, Fault{F: Crash, Targets: server}, "redis-1 is no worker"},
		"a server":          {Fault{F: Evict, Targets: server}, Fault{F: Evict, Targets: worker}, "worker-0 is no server"},
		"an operation":      {Fault{F: Loss, Targets: worker, Step: Release}, Fault{F: Loss, Targets: worker, Step: StepWork}, `no operation "work"`},
		"links to heal":     {Fault{F: Heal, From: server, To: worker}, Fault{F: Heal, Targets: server}, "it has no targets"},
		"a jump":            {Fault{F: Skew, Targets: server, Offset: 1}, Fault{F: Skew, Targets: server}, "skew by nothing"},
		"a time":            {Fault{F: Delay, Targets: worker, Step: StepCommit, For: LongestRun}, Fault{F: Delay, Targets: worker, Step: StepCommit, For: LongestRun + 1}, "no run is longer"},
	} {
		if err := test.right.Check(); err != nil {
			t.Errorf("%s: refused what is right: %v", name, err)
		}
		if err := test.bad.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

// What ends which faults: the other of each pair goes on.
func TestSpansOfFaults(t *testing.T) {
	mark := func(f string, targets ...string) Event {
		return Event{Process: Nemesis, Type: Info, F: f, Targets: targets, Fault: &Fault{F: f, Targets: targets}}
	}
	with := func(e Event, change func(*Event)) Event { change(&e); return e }
	link := func(f string, ends ...string) Event {
		return with(mark(f, ends...), func(e *Event) { e.Fault = &Fault{F: f, From: ends[:1], To: ends[1:]} })
	}
	final := Event{Process: Nemesis, Type: Info, F: Phase, Note: PhaseFinal}
	healthy := Event{Process: Nemesis, Type: Info, F: Healthy}
	for name, test := range map[string]struct {
		fault Event
		end   Event
		ends  bool
	}{
		"a start":                                 {mark(Kill, "redis-1"), mark(Start, "redis-1"), true},
		"a start of another":                      {mark(Kill, "redis-1"), mark(Start, "redis-2"), false},
		"a healthy cluster":                       {mark(Kill, "redis-1"), healthy, true},
		"a cluster that is not":                   {mark(Kill, "redis-1"), with(healthy, func(e *Event) { e.Error = "no" }), false},
		"a worker is replaced, not healed":        {mark(Kill, "worker-1"), healthy, false},
		"a worker's start":                        {mark(Kill, "worker-1"), mark(Start, "worker-1"), true},
		"a resume":                                {mark(Pause, "worker-1"), mark(Resume, "worker-1", "worker-2"), true},
		"the last phase":                          {mark(Pause, "worker-1"), final, true},
		"a heal ends no pause":                    {mark(Pause, "worker-1"), mark(Heal), false},
		"a heal":                                  {mark(Skew, "redis-1"), mark(Heal), true},
		"a heal of these links":                   {link(Partition, "a", "b"), link(Heal, "b", "a"), true},
		"a heal of some of them":                  {link(Partition, "a", "b", "c"), link(Heal, "a", "b"), false},
		"a heal of links rights no clock":         {mark(Skew, "a", "b"), link(Heal, "a", "b"), false},
		"a heal that failed":                      {link(Loss, "a", "b"), with(mark(Heal), func(e *Event) { e.Error = "no" }), false},
		"a heal that names whom, from elsewhere":  {mark(Delay, "worker-1"), with(mark(Heal, "worker-1"), func(e *Event) { e.Fault = nil }), true},
		"a heal that names another, of elsewhere": {mark(Delay, "worker-1"), with(mark(Heal, "worker-2"), func(e *Event) { e.Fault = nil }), false},
	} {
		test.fault.Time, test.end.Time = 1, 5
		if test.fault.F == Skew {
			test.fault.Fault.Offset = 1
		}
		want := int64(Never)
		if test.ends {
			want = 5
		}
		spans := FaultSpans([]Event{test.fault, test.end})
		if len(spans) != 1 || spans[0].From != 1 || spans[0].To != want || !spans[0].Lasts {
			t.Errorf("%s: %+v, want an end at %d", name, spans, want)
		}
	}
	for _, e := range []Event{
		mark(Evict, "redis-1"), mark(Failover, "redis-1"),
		with(mark(Kill, "redis-1"), func(e *Event) { e.Fault.Mode = ModeConnection }),
		with(mark(Loss, "worker-1"), func(e *Event) { e.Fault.Step = Release }),
	} {
		if spans := FaultSpans([]Event{e}); len(spans) != 1 || spans[0].Lasts || spans[0].To != 0 {
			t.Errorf("%s lasts: %+v", e.F, spans)
		}
	}
	for _, e := range []Event{
		with(mark(Crash), func(e *Event) { e.Fault.Step = StepCommit }),
		with(mark(Kill, "redis-1"), func(e *Event) { e.Error = "no" }),
		mark(Start, "redis-1"), {Process: Nemesis, F: Promoted},
	} {
		if spans := FaultSpans([]Event{e}); len(spans) != 0 {
			t.Errorf("%s is a fault: %+v", e.F, spans)
		}
	}
}

func TestNamesOfWorkers(t *testing.T) {
	for name, want := range map[string]int{"worker-0": 0, "worker-12": 12} {
		if n, ok := WorkerNumber(name); !ok || n != want || WorkerName(n) != name {
			t.Errorf("%s is %d, %v", name, n, ok)
		}
	}
	for _, name := range []string{"worker-", "worker--1", "worker-1x", "worker-9999999999", "redis-1", "workers"} {
		if n, ok := WorkerNumber(name); ok {
			t.Errorf("%s is worker %d", name, n)
		}
	}
}
