package nemesis

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

func TestSchedulesThatARunCannotPlayAreRefusedWithTheirPlace(t *testing.T) {
	p := Params{
		Workers: 4, Servers: 3, Replicas: true, Sentinels: true,
		Nodes: []string{"redis-1", "redis-2", "redis-3", "sentinel-1", "stock-1"}, Places: []string{"before-write"},
	}
	kill := func(name string) Step { return step(histories.Fault{F: histories.Kill, Targets: []string{name}}) }
	grant := &Trigger{F: []string{histories.Acquire}}
	five := 5
	tests := map[string]struct {
		right, bad Step
		want       string
	}{
		"a server":           {kill("redis-3"), kill("redis-4"), `there is no "redis-4" here`},
		"a kind of server":   {kill("stock"), kill("sql"), `there is no "sql" here`},
		"a worker":           {kill("worker-3"), kill("worker-4"), `there is no "worker-4" here; there are workers 0 to 3`},
		"a word":             {kill("replicas"), kill("slaves"), `there is no "slaves" here`},
		"the other end":      {cutOffOf("locks", "half-workers"), cutOffOf("locks", "queue"), `there is no "queue" here`},
		"whom nobody caught": {on(grant, histories.Fault{F: histories.Kill, Targets: []string{histories.RoleHolder}}), kill(histories.RoleHolder), `"holder" is whom a trigger caught`},
		"caught by the cluster": {
			on(grant, histories.Fault{F: histories.Kill, Targets: []string{histories.RoleHolder}}),
			on(promoted, histories.Fault{F: histories.Kill, Targets: []string{histories.RoleHolder}}), "waits for what a worker does",
		},
		"a place": {
			step(histories.Fault{F: histories.Crash, Targets: []string{"workers"}, Step: "before-write"}),
			step(histories.Fault{F: histories.Crash, Targets: []string{"workers"}, Step: "before-rite"}), `no step "before-rite" here; there are before-write`,
		},
		"an operation": {
			step(histories.Fault{F: histories.Loss, Targets: []string{"workers"}, Step: histories.Release}),
			step(histories.Fault{F: histories.Loss, Targets: []string{"workers"}, Step: "before-write"}), `no operation "before-write" whose reply could get lost`,
		},
		"a mode": {
			step(histories.Fault{F: histories.Kill, Targets: []string{"locks"}, Mode: "connection"}),
			step(histories.Fault{F: histories.Kill, Targets: []string{"locks"}, Mode: "connexion"}), `kill has no mode "connexion"`,
		},
		"a trigger's worker": {on(grant, histories.Fault{F: histories.Heal}), on(&Trigger{F: grant.F, Worker: &five}, histories.Fault{F: histories.Heal}), "waits for worker 5: there are 4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			play := func(s Step) error { return Schedule{Episodes: []Episode{{}, {Steps: []Step{heal, s}}}}.Check(p) }
			if err := play(test.right); err != nil {
				t.Errorf("refused what is right: %v", err)
			}
			err := play(test.bad)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "episode 2, step 2") {
				t.Errorf("err = %v, want one about %s", err, test.want)
			}
		})
	}
}

func cutOffOf(from, to string) Step {
	return step(histories.Fault{F: histories.Partition, From: []string{from}, To: []string{to}})
}

func TestEveryPlanCanBePlayed(t *testing.T) {
	for _, n := range Catalogue {
		for _, only := range variantNames(n) {
			p := params(3)
			p.Only, p.Waits, p.Places = only, only == "stale-replica", p.Steps
			p.Nodes = []string{"redis-1", "redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3", "sql-1"}
			if p.SQL {
				p.Places = append(p.Places, "commit", "before-write")
			}
			s, err := Plan(n.Name, p)
			if err != nil {
				continue // it does not fit
			}
			if err := s.Check(p); err != nil {
				t.Errorf("%s/%s: %v", n.Name, only, err)
			}
		}
	}
}

func TestASmallerRunsScheduleIsWithoutWhatItCannotPlay(t *testing.T) {
	s := Schedule{Episodes: []Episode{
		{At: time.Second, Steps: []Step{step(histories.Fault{F: histories.Kill, Targets: []string{"worker-4"}}), heal}},
		{At: 5 * time.Second, Steps: []Step{heal}},
	}}
	want := Schedule{Episodes: []Episode{{At: time.Second, Steps: []Step{heal}}}}
	if diff := cmp.Diff(want, s.Within(5*time.Second, 4)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(s, s.Within(6*time.Second, 5)); diff != "" {
		t.Errorf("what can be played went too: %s", diff)
	}
}
