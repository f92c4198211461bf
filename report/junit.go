package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/checker"
)

// The shape of a JUnit result, by the schema that Jenkins and others publish
// (junit-10.xsd): suites of cases, each with at most one failure, error or
// skip, texts last.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string           `xml:"name,attr"`
		Tests      int              `xml:"tests,attr"`
		Failures   int              `xml:"failures,attr"`
		Errors     int              `xml:"errors,attr"`
		Skipped    int              `xml:"skipped,attr"`
		Time       string           `xml:"time,attr"`
		Timestamp  string           `xml:"timestamp,attr,omitempty"`
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string      `xml:"name,attr"`
		Class     string      `xml:"classname,attr"`
		Time      string      `xml:"time,attr"`
		Skipped   *junitWord  `xml:"skipped"`
		Error     *junitFault `xml:"error"`
		Failure   *junitFault `xml:"failure"`
		SystemOut string      `xml:"system-out,omitempty"`
	}
	junitWord struct {
		Message string `xml:"message,attr,omitempty"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes each run as a suite, all in one document, with a case per property. A property that
// could not be decided is an error, never a pass or a skip: most CI servers
// take a skip for green.
func JUnit(w io.Writer, runs ...Run) error {
	var suites []junitSuite
	for _, r := range runs {
		suites = append(suites, suiteOf(r))
	}
	return writeJUnit(w, suites...)
}

func suiteOf(r Run) junitSuite {
	s := junitSuite{Name: r.title(), Time: seconds(r.Took.Seconds()), Timestamp: stamp(r.Started)}
	if settings := settingsOf(r.Header); len(settings) > 0 {
		s.Properties = &junitProperties{}
		for _, p := range settings {
			s.Properties.List = append(s.Properties.List, junitProperty{plain(p.Name), plain(p.Value)})
		}
	}
	for _, res := range r.Verdict.Results {
		s.add(propertyCase(r, res))
	}
	if len(r.Verdict.Results) == 0 || r.Verdict.Outcome == checker.Unknown && r.Verdict.Reason != "" {
		s.add(junitCase{Name: "run was conclusive", Class: s.Name, Time: seconds(0),
			Error: &junitFault{Message: plain(r.Verdict.Reason), Type: string(checker.Unknown)}})
	}
	return s
}

func propertyCase(r Run, res checker.Result) junitCase {
	c := junitCase{Name: string(res.Property), Class: r.title() + "." + string(res.Level), Time: seconds(0)}
	switch res.Outcome {
	case checker.NotLooked:
		c.Skipped = &junitWord{plain(string(res.Outcome) + ": " + res.Reason)}
	case checker.Unknown:
		c.Error = &junitFault{Message: plain(res.Reason), Type: string(checker.Unknown)}
	case checker.Invalid:
		c.Failure = &junitFault{Type: string(res.Property), Message: meaning(res.Property) + times(res.Count)}
		var lines []string
		for _, v := range r.Verdict.Violations {
			if v.Property == res.Property {
				lines = append(lines, plain(sentence(v.Summary)), "Cause: "+plain(causeText(v)))
			}
		}
		c.Failure.Text = strings.Join(append(lines, "Again: "+plain(r.Replay)), "\n")
	}
	return c
}

// JUnit writes the matrix as a suite per design with a case per nemesis. With
// ByClaims a case fails where the verdict is not what the design claims.
func (m Matrix) JUnit(w io.Writer) error {
	of := map[string][]Cell{}
	for _, c := range m.Cells {
		of[c.Design] = append(of[c.Design], c)
	}
	var suites []junitSuite
	for _, d := range m.grid().designs {
		s := junitSuite{Name: plain(d), Timestamp: stamp(m.Started)}
		took := 0.0
		for _, c := range of[d] {
			s.add(m.junitCase(c))
			took += c.Seconds
		}
		s.Time = seconds(took)
		suites = append(suites, s)
	}
	return writeJUnit(w, suites...)
}

func (m Matrix) junitCase(c Cell) junitCase {
	j := junitCase{Name: plain(c.Nemesis), Class: plain(c.Design), Time: seconds(c.Seconds)}
	surprises := c.Surprises()
	switch {
	case c.Error != "":
		j.Error = &junitFault{Message: plain(c.Error), Type: "error"}
	case c.Runs == 0:
		j.Skipped = &junitWord{plain(c.Skipped)}
	case m.ByClaims && len(surprises) > 0:
		j.Failure = &junitFault{Message: surprises[0].Text(), Type: "claim", Text: c.story()}
	case m.ByClaims && c.Outcome != checker.Valid:
		j.SystemOut = c.story()
	case c.Outcome == checker.Invalid:
		j.Failure = &junitFault{Message: c.what(), Type: properties(c.Broken), Text: c.story()}
	case c.Outcome == checker.Unknown:
		j.Error = &junitFault{Message: c.what(), Type: string(checker.Unknown), Text: c.story()}
	}
	return j
}

// story is what a person needs who sees only the JUnit result.
func (c Cell) story() string {
	lines := []string{c.what()}
	if c.Summary != "" {
		lines = append(lines, sentence(plain(c.Summary)))
	}
	if c.Cause != "" {
		lines = append(lines, "Cause: "+string(c.Cause)+".")
	}
	if c.Folder != "" {
		lines = append(lines, "Report: "+plain(c.Folder)+"/report.html")
	}
	if c.Replay != "" {
		lines = append(lines, "Again: "+plain(c.Replay))
	}
	return strings.Join(lines, "\n")
}

// add counts a case into the suite.
func (s *junitSuite) add(c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func writeJUnit(w io.Writer, suites ...junitSuite) error {
	all := junitSuites{Name: "lockcheck", Suites: suites}
	total := 0.0
	for _, s := range suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		var t float64
		fmt.Sscan(s.Time, &t)
		total += t
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("junit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// seconds is a duration as JUnit writes it.
func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// stamp is a moment as JUnit writes it: ISO 8601 without a zone, in UTC.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
