package nemesis

import (
	"strings"
	"testing"
	"time"
)

// schedule is a schedule of one episode with one step.
func scheduleOf(step string) string {
	return "{\"format\":\"lockcheck-schedule/1\",\n\"nemesis\":\"mine\",\n\"episodes\":[{\"name\":\"e\",\"steps\":[\n" + step + "]}]}"
}

func TestSchedulesWithMistakesAreRefused(t *testing.T) {
	const head = `{"format":"lockcheck-schedule/1"`
	long := strings.Repeat("a", 65)
	tests := map[string]struct{ right, bad, want string }{
		"not JSON":              {head + "}", "kill it", "schedule: not JSON: invalid character 'k' looking for beginning of value"},
		"another version":       {head + "}", `{"format":"lockcheck-schedule/9"}`, `schedule: format is "lockcheck-schedule/9", want "lockcheck-schedule/1"`},
		"an unknown field":      {head + `,"x-by":"me"}`, head + ",\n\"epizodes\":[]}", `schedule: line 2: unknown field "epizodes": did you mean "episodes"?`},
		"a field of a fault":    {scheduleOf(`{"fault":{"f":"kill","targets":["a"]}}`), scheduleOf(`{"fault":{"f":"kill","target":["a"]}}`), `schedule: line 4: episodes[0].steps[0].fault: unknown field "target": did you mean "targets"?`},
		"a target that is text": {scheduleOf(`{"fault":{"f":"heal"}}`), scheduleOf(`{"fault":{"f":"kill","targets":"a"}}`), `schedule: line 4: episodes[0].steps[0].fault.targets: want a list, not the text "a"`},
		"an unknown fault":      {scheduleOf(`{"fault":{"f":"evict","targets":["a"]}}`), scheduleOf(`{"fault":{"f":"kil","targets":["a"]}}`), `schedule: episode 1 ("e"), step 1: no fault is called "kil": did you mean "kill"?`},
		"no targets":            {scheduleOf(`{"fault":{"f":"partition","from":["a"]}}`), scheduleOf(`{"fault":{"f":"partition","to":["a"]}}`), `schedule: episode 1 ("e"), step 1: partition of nothing: want targets or from`},
		"no name":               {scheduleOf(`{"fault":{"f":"pause","targets":["a"]}}`), scheduleOf(`{"fault":{"f":"pause","targets":[""]}}`), `schedule: episode 1 ("e"), step 1: pause: a target without a name`},
		"no fault":              {scheduleOf(`{"fault":{"f":"heal"}}`), scheduleOf(`{}`), `schedule: episode 1 ("e"), step 1: no fault`},
		"no steps":              {scheduleOf(`{"fault":{"f":"heal"}}`), scheduleOf(``), `schedule: episode 1 ("e") has no steps`},
		"before the run":        {scheduleOf(`{"after":0,"fault":{"f":"heal"}}`), scheduleOf(`{"after":-1,"fault":{"f":"heal"}}`), `schedule: episode 1 ("e"), step 1: after is -1ns, before the run`},
		"an episode before it":  {head + `,"episodes":[]}`, head + `,"episodes":[{"at":-1}]}`, `schedule: episode 1: at is -1ns, before the run`},
		"after any run":         {scheduleOf(`{"after":86400000000000,"fault":{"f":"heal"}}`), scheduleOf(`{"after":86400000000001,"fault":{"f":"heal"}}`), `schedule: episode 1 ("e"), step 1: after is 24h0m0.000000001s: no run is longer than 24h0m0s`},
		"an empty trigger":      {scheduleOf(`{"on":{"f":["acquire"]},"fault":{"f":"heal"}}`), scheduleOf(`{"on":{"f":[]},"fault":{"f":"heal"}}`), `schedule: episode 1 ("e"), step 1: on: a trigger without f waits for nothing`},
		"a trigger of nothing":  {scheduleOf(`{"on":{"f":["promoted"]},"fault":{"f":"heal"}}`), scheduleOf(`{"on":{"f":["aquire"]},"fault":{"f":"heal"}}`), `schedule: episode 1 ("e"), step 1: on: nothing is called "aquire": did you mean "acquire"?`},
		"a trigger of no type":  {scheduleOf(`{"on":{"f":["sell"],"type":"info"},"fault":{"f":"heal"}}`), scheduleOf(`{"on":{"f":["sell"],"type":"invok"},"fault":{"f":"heal"}}`), `schedule: episode 1 ("e"), step 1: on: no type is called "invok": did you mean "invoke"?`},
		"a rate above 1":        {scheduleOf(`{"fault":{"f":"loss","from":["a"],"rate":1}}`), scheduleOf(`{"fault":{"f":"loss","from":["a"],"rate":10}}`), `schedule: episode 1 ("e"), step 1: loss: rate is 10: want 0 to 1`},
		"a skew of nothing":     {scheduleOf(`{"fault":{"f":"skew","targets":["a"],"offset":-5}}`), scheduleOf(`{"fault":{"f":"skew","targets":["a"]}}`), `schedule: episode 1 ("e"), step 1: skew by nothing: want offset or drift`},
		"a name with a slash":   {head + `,"nemesis":"failover+clock"}`, head + `,"nemesis":"../x"}`, `schedule: nemesis is "../x": want a name of at most 64 letters, digits, "-", "_" and "+"`},
		"a long name":           {head + `,"nemesis":"` + long[1:] + `"}`, head + `,"nemesis":"` + long + `"}`, `schedule: nemesis is "` + long + `": want a name of at most 64 letters, digits, "-", "_" and "+"`},
		"faults of none":        {head + `,"nemesis":"none"}`, strings.Replace(scheduleOf(`{"fault":{"f":"heal"}}`), "mine", "none", 1), `schedule: nemesis is "none", which has no faults: want a name for these`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadSchedule(strings.NewReader(test.right)); err != nil {
				t.Errorf("refused what is right: %v\n%s", err, test.right)
			}
			if _, err := ReadSchedule(strings.NewReader(test.bad)); err == nil || err.Error() != test.want {
				t.Errorf("error\n got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestAScheduleWithoutANameHasOne(t *testing.T) {
	s, err := ReadSchedule(strings.NewReader(`{"format":"lockcheck-schedule/1"}`))
	if err != nil || s.Nemesis != "schedule" {
		t.Errorf("nemesis is %q, %v: without one nobody asks whether its faults bit", s.Nemesis, err)
	}
}

func TestFaultsAfterTheEndDoNotFit(t *testing.T) {
	s, err := ReadSchedule(strings.NewReader(`{"format":"lockcheck-schedule/1","episodes":[{"at":4000000000,"steps":[
		{"fault":{"f":"kill","targets":["a"]}},{"after":3000000000,"fault":{"f":"pause","targets":["b"]}},{"after":9000000000,"fault":{"f":"start","targets":["a"]}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[time.Duration]string{
		5 * time.Second: "",
		4 * time.Second: "schedule: episode 1 begins at 4s, when the run of 4s is over",
		2 * time.Second: "schedule: episode 1 begins at 4s, when the run of 2s is over",
	} {
		got := ""
		if err := s.Fits(limit); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("in %v: %q, want %q", limit, got, want)
		}
	}
	s.Episodes[0].At = 0
	if err := s.Fits(3 * time.Second); err == nil || err.Error() != "schedule: episode 1, step 2: pause comes after 3s, when the run of 3s is over" {
		t.Error(err)
	}
}
