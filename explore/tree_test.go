package explore

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
)

func search(t *testing.T, s *Search) *Result {
	t.Helper()
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// all tries every kind with every variant at every point up to last, and answers
// what the scene takes as one more deviation.
func all(t *testing.T, s *Scene, plan []sim.Placed, last int) (taken [][]sim.Placed) {
	t.Helper()
	first := 1
	if len(plan) > 0 {
		first = plan[len(plan)-1].Point // one deviation at a point: refused
	}
	for point := first; point <= last; point++ {
		for k := range sim.AllKinds {
			for _, variant := range []uint8{0, 1, 2, 3, 4, 255} {
				p := append(plan[:len(plan):len(plan)], sim.Placed{Point: point, Deviation: sim.Deviation{Kind: sim.Kind(k), Variant: variant}})
				switch _, err := s.play(p, false, s.walls); {
				case err == nil:
					taken = append(taken, p)
				case !errors.Is(err, sim.ErrNoSuchDeviation):
					t.Fatalf("%v: %v", p, err)
				}
			}
		}
	}
	return taken
}

// The tree has exactly the placements that trying everything everywhere finds.
func TestTheTreeHasEveryPlacementOnce(t *testing.T) {
	s := sceneOf(t, "lua-stock", Size{})
	const beyond = 60 // points that no schedule of this scene has
	var walked [][]sim.Placed
	for _, a := range play(t, s).Options {
		walked = append(walked, []sim.Placed{a})
	}
	if tried := all(t, s, nil, beyond); !reflect.DeepEqual(tried, walked) {
		t.Fatalf("tried everywhere: %d single deviations\nby the tree: %d", len(tried), len(walked))
	}
	for i := 0; i < len(walked); i += 7 { // of the pairs a seventh
		p := play(t, s, walked[i]...)
		if p.Points >= beyond {
			t.Fatalf("%v has %d points", walked[i], p.Points)
		}
		var pairs [][]sim.Placed
		for _, b := range p.Options {
			pairs = append(pairs, []sim.Placed{walked[i][0], b})
		}
		if tried := all(t, s, walked[i], beyond); !reflect.DeepEqual(tried, pairs) {
			t.Fatalf("after %v, tried everywhere: %d, by the tree: %d", walked[i], len(tried), len(pairs))
		}
	}
}

// Nothing breaks row-lock, so all is played.
func TestTheSearchPlaysAllOfTheTree(t *testing.T) {
	s := sceneOf(t, "row-lock", Size{})
	s.Kinds = sim.Kinds(0).With(sim.Lost).With(sim.Connection)
	want, pairs := int64(0), int64(0)
	for _, a := range play(t, s).Options {
		want++
		pairs += int64(len(play(t, s, a).Options))
	}
	r := search(t, &Search{Scene: s, Deviations: 2, Lanes: 2})
	if got := []int64{r.Depths[0].Played, r.Depths[1].Played, r.Depths[2].Played}; !reflect.DeepEqual(got, []int64{1, want, pairs}) || r.Complete != 2 {
		t.Errorf("played %v up to %d deviations, want 1, %d, %d", got, r.Complete, want, pairs)
	}
	if r.Depths[1].All != want || r.Depths[2].All != pairs {
		t.Errorf("knew of %d and %d schedules, want %d and %d", r.Depths[1].All, r.Depths[2].All, want, pairs)
	}
}

// Once every level that the design has is broken, only what tells a distance by one
// kind is played.
func TestABrokenDesignIsExploredByOneKindAtATime(t *testing.T) {
	s := sceneOf(t, "lua-stock", Size{})
	want := int64(0)
	for _, a := range play(t, s).Options {
		for _, b := range play(t, s, a).Options {
			switch a.Kind {
			case sim.Forget, sim.Failover, sim.Evict: // one is enough
			case b.Kind:
				want++
			}
		}
	}
	r := search(t, &Search{Scene: s, Deviations: 2})
	if r.Depths[2].Played != want || r.Depths[2].All <= want || r.Bears() != 1 || r.Complete != 2 {
		t.Errorf("played %d of %d, want %d; bears %d, complete %d", r.Depths[2].Played, r.Depths[2].All, want, r.Bears(), r.Complete)
	}
	aimed := search(t, &Search{Scene: sceneOf(t, "redis-lock", Size{}), Deviations: 2, Aims: []checker.Level{checker.LockLevel}})
	if d := aimed.Depths[2]; d.Played == 0 || d.Played >= d.All {
		t.Errorf("of a lock that is broken with one, %d of %d were played", d.Played, d.All)
	}
}

// However many play, the result is the same.
func TestLanesAndShardsFindTheSame(t *testing.T) {
	s := sceneOf(t, "ttl-no-fence", Size{})
	one := search(t, &Search{Scene: s, Deviations: 1})
	many := search(t, &Search{Scene: s, Deviations: 1, Lanes: 4})
	if !reflect.DeepEqual(one, many) {
		t.Errorf("one lane: %+v\nfour: %+v", one.Broken, many.Broken)
	}
	sum := int64(0)
	for shard := range 3 {
		part := search(t, &Search{Scene: s, Deviations: 1, Shard: shard, Shards: 3})
		sum += part.Depths[1].Played
		for i, b := range part.Broken {
			if b != nil && comparePlans(b.Plan, one.Broken[i].Plan) < 0 {
				t.Errorf("shard %d found %v, before %v", shard, b.Plan, one.Broken[i].Plan)
			}
		}
	}
	if sum != one.Depths[1].Played {
		t.Errorf("three shards played %d, want %d", sum, one.Depths[1].Played)
	}
}

func TestASearchThatIsCutShortSaysHowFarItCame(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &Search{Scene: sceneOf(t, "lua-stock", Size{}), Deviations: 2, Said: func(p Progress) {
		if p.Deviations == 2 {
			cancel()
		}
	}}
	r, err := s.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Depths[2]; r.Complete != 1 || d.Played == 0 || d.Played >= d.All {
		t.Errorf("complete up to %d, of two deviations %d of %d", r.Complete, d.Played, d.All)
	}
}
