package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/internal/spelling"
	"github.com/lockcheck/lockcheck/internal/strictjson"
)

// The messages of a child as they are on the line. Fields whose names begin
// with "x-" are passed over, null is absent.
type (
	wireReady struct {
		Ready string   `json:"ready"`
		Can   []string `json:"can"`
		TTL   *float64 `json:"ttl_ms"`
	}
	wireAnswer struct {
		ID      *int64   `json:"id"`
		OK      bool     `json:"ok"`
		Busy    bool     `json:"busy"`
		Gone    bool     `json:"gone"`
		SoldOut bool     `json:"sold_out"`
		Refused *string  `json:"refused"`
		Unknown *string  `json:"unknown"`
		Token   *string  `json:"token"`
		Valid   *float64 `json:"valid_ms"`
		Fence   *int64   `json:"fence"`
		Left    *int64   `json:"left"`
		Seen    *int64   `json:"seen"`
	}
	wireNote struct {
		Note  string   `json:"note"`
		Key   string   `json:"key"`
		Token *string  `json:"token"`
		Valid *float64 `json:"valid_ms"`
		Fence *int64   `json:"fence"`
		Left  *int64   `json:"left"`
	}
	wireStep struct {
		Step string `json:"step"`
		ID   int64  `json:"id"`
	}
)

// kindOf tells the message that a line is meant to be by the field that only
// that message has: "ready", "note", "step" or "id". An error means that the
// line is no JSON object.
func kindOf(text []byte) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return "", err
	}
	if fields == nil {
		return "", errors.New("null")
	}
	for _, field := range []string{"ready", "note", "step", "id"} {
		if _, has := fields[field]; has {
			return field, nil
		}
	}
	return "", nil
}

// idOf is the id of a line that may be wrong otherwise.
func idOf(text []byte) (id int64, ok bool) {
	var some struct {
		ID json.Number `json:"id"`
	}
	if json.Unmarshal(text, &some) != nil {
		return 0, false
	}
	id, err := some.ID.Int64()
	return id, err == nil
}

// decodeReady reads a ready; ttl is the lease unless it says another.
func decodeReady(text []byte, ttl time.Duration) (Ready, error) {
	var w wireReady
	if _, err := strictjson.Unmarshal(text, &w); err != nil {
		return Ready{}, err
	}
	if w.Ready == "" {
		return Ready{}, errors.New("the name is empty")
	}
	for _, can := range w.Can {
		if err := oneOf("can", can, canWords); err != nil {
			return Ready{}, err
		}
	}
	r := Ready{Name: bounded(w.Ready), Can: w.Can, TTL: ttl}
	if w.TTL != nil {
		var err error
		if r.TTL, err = duration(*w.TTL); err != nil {
			return Ready{}, fmt.Errorf("ttl_ms of %w", err)
		}
	}
	return r, nil
}

// oneOf says what is wrong with a word that is none of words.
func oneOf(field, word string, words []string) error {
	for _, known := range words {
		if word == known {
			return nil
		}
	}
	if near := spelling.Nearest(word, words); near != "" {
		return fmt.Errorf("%s is %.40q: did you mean %q?", field, word, near)
	}
	return fmt.Errorf("%s is %.40q: want one of %s", field, word, strings.Join(words, ", "))
}

// maxValidity bounds what a child says of the future.
const maxValidity = 24 * time.Hour

// duration is a number of milliseconds, which need not be whole.
func duration(ms float64) (time.Duration, error) {
	if math.IsNaN(ms) || ms < 0 || ms >= float64(maxValidity/time.Millisecond) {
		return 0, fmt.Errorf("%v ms is out of bounds: want 0 to a day", ms)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

func decodeAnswer(text []byte) (wireAnswer, error) {
	var w wireAnswer
	if _, err := strictjson.Unmarshal(text, &w); err != nil {
		return w, err
	}
	if w.ID == nil {
		return w, errors.New("the id is null")
	}
	return w, nil
}

func decodeNote(text []byte) (wireNote, error) {
	var w wireNote
	if _, err := strictjson.Unmarshal(text, &w); err != nil {
		return w, err
	}
	if w.Key == "" {
		return w, errors.New("the key is missing")
	}
	return w, oneOf("note", w.Note, noteWords)
}

func decodeStep(text []byte) (wireStep, error) {
	var w wireStep
	if _, err := strictjson.Unmarshal(text, &w); err != nil {
		return w, err
	}
	if w.Step == "" || len(w.Step) > maxText {
		return w, errors.New("the name of the step is empty or too long")
	}
	return w, nil
}

// outcome is the one outcome of an answer to a request.
func (w wireAnswer) outcome(do string) (o Outcome, why string, err error) {
	var said []Outcome
	for _, one := range []struct {
		o    Outcome
		said bool
		why  *string
	}{{OK, w.OK, nil}, {Busy, w.Busy, nil}, {Gone, w.Gone, nil}, {SoldOut, w.SoldOut, nil}, {Refused, w.Refused != nil, w.Refused}, {Unknown, w.Unknown != nil, w.Unknown}} {
		if !one.said {
			continue
		}
		said, o = append(said, one.o), one.o
		if one.why != nil {
			why = bounded(*one.why)
		}
	}
	switch len(said) {
	case 0:
		return Unknown, "", fmt.Errorf("says nothing about how %s ended: want one of %s", do, listed(outcomes[do]))
	case 1:
	default:
		return Unknown, "", fmt.Errorf("says both %s and %s", said[0], said[1])
	}
	for _, possible := range outcomes[do] {
		if o == possible {
			return o, why, nil
		}
	}
	return Unknown, "", fmt.Errorf("%s does not end with %s: want one of %s", do, o, listed(outcomes[do]))
}

func listed(all []Outcome) string {
	words := make([]string, len(all))
	for i, o := range all {
		words[i] = string(o)
	}
	return strings.Join(words, ", ")
}

// maxText bounds names, tokens and reasons, in bytes.
const maxText = 512

// bounded is a text that people read.
func bounded(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

func number(n *int64) Number {
	if n == nil {
		return Number{}
	}
	return Number{*n, true}
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
