package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Name string  `json:"name"`
	Rate float64 `json:"rate,omitempty"`
}

type outer struct {
	Number int64             `json:"number"`
	Small  uint8             `json:"small"`
	Flag   bool              `json:"flag"`
	List   []inner           `json:"list"`
	One    *inner            `json:"one"`
	Free   map[string]string `json:"free"`
}

func TestUnmarshalTakesWhatHasAPlace(t *testing.T) {
	var v outer
	present, err := Unmarshal([]byte(`{"number":-7,"small":255,"flag":null,"list":[{"name":"a","rate":0.5},{"x-n":[{"a":1}]}],"one":{"name":"b"},"free":{"any":"c"},"x-":1}`), &v)
	if err != nil {
		t.Fatal(err)
	}
	want := outer{Number: -7, Small: 255, List: []inner{{"a", 0.5}, {}}, One: &inner{Name: "b"}, Free: map[string]string{"any": "c"}}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
	if !present["number"] || present["flag"] {
		t.Errorf("present: %v; flag is null, which is absent", present)
	}
}

func TestUnmarshalNamesThePlace(t *testing.T) {
	for in, want := range map[string]Error{
		"{\n\"numbre\":1}":                {2, "", `unknown field "numbre": did you mean "number"?`},
		"{\"list\":[{},\n{\"nam\":1}]}":   {2, "list[1]", `unknown field "nam": did you mean "name"?`},
		`{"list":{}}`:                     {1, "list", "want a list, not an object"},
		`{"list":[1]}`:                    {1, "list[0]", "want an object, not 1"},
		`{"one":[]}`:                      {1, "one", "want an object, not a list"},
		`{"flag":"true"}`:                 {1, "flag", `want true or false, not the text "true"`},
		`{"number":true}`:                 {1, "number", "want a whole number, not true"},
		`{"number":1.5}`:                  {1, "number", "want a whole number, not 1.5"},
		`{"small":256}`:                   {1, "small", "want a whole number, not 256"},
		`{"free":{"a":1}}`:                {1, "free.a", "want a text, not 1"},
		`{"one":{"name":"a","name":"b"}}`: {1, "one", `field "name" stands twice`},
		"{\n\n\"free\":{\"a\":\"\xff\"}}": {3, "", "text that is not UTF-8"},
		`{"x-":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`: {1, "x-" + strings.Repeat("[0]", 63), "nested deeper than 64"},
	} {
		var v outer
		_, err := Unmarshal([]byte(in), &v)
		got, ok := errors.AsType[*Error](err)
		if !ok || *got != want {
			t.Errorf("%.80q\n got %+v\nwant %+v", in, err, want)
		}
	}
	for _, in := range []string{"", "{", `{"number":1}}`, `{"number":1} {}`, `{"number":01}`} {
		var v outer
		if _, err := Unmarshal([]byte(in), &v); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v, want %v", in, err, ErrSyntax)
		}
	}
}

// FuzzUnmarshal holds that what is taken means what encoding/json takes it for.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"number":-7,"list":[{"name":"\ud83d\ude00"}],"x-a":{"b":[null]}}`))
	f.Add([]byte(`{"Number":1,"free":{"a":"\\ud800"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, loose outer
		_, err := Unmarshal(data, &strict)
		if err != nil {
			return
		}
		if err := json.Unmarshal(data, &loose); err != nil {
			t.Fatalf("%q is taken, but encoding/json says %v", data, err)
		}
		if diff := cmp.Diff(loose, strict); diff != "" {
			t.Fatalf("%q\n%s", data, diff)
		}
	})
}
