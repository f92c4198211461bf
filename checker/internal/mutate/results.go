package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// What can become of a mutant.
const (
	killedByTest = "killed"
	killedByTime = "killed by time-out"
	survived     = "survived"
	notCompiled  = "not compiled"
)

// passed is what has become of a mutant that later tests have yet to meet.
func passed(stage int) string { return fmt.Sprintf("passed stage %d", stage+1) }

func (r *result) decided() bool { return !strings.HasPrefix(r.Result, "passed") }

// result of the tests of one mutant.
type result struct {
	mutant
	Result  string  `json:"result"`
	By      string  `json:"by,omitempty"` // what failed
	Seconds float64 `json:"seconds"`

	processor time.Duration
}

// results are kept in a file, if it has a name, one a line; the last of a mutant
// counts.
type results struct {
	of   map[string]result
	file *os.File
}

func openResults(name string) (*results, error) {
	rs := &results{of: map[string]result{}}
	if name == "" {
		return rs, nil
	}
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := bufio.NewScanner(strings.NewReader(string(before)))
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rs.of[r.key()] = r
	}
	rs.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return rs, err
}

// add prints a result and keeps it.
func (rs *results) add(r result) error {
	rs.of[r.key()] = r
	change := strings.Join(strings.Fields(r.Old), " ") + " → " + r.New
	fmt.Printf("%-18s %5.1fs  %s:%d:%d: %s  %s\n", r.Result, r.Seconds, r.File, r.Line, r.Column, change, r.By)
	if rs.file == nil {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = rs.file.Write(append(line, '\n'))
	return err
}

func (rs *results) Close() error {
	if rs.file == nil {
		return nil
	}
	return rs.file.Close()
}
