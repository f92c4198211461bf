package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
)

// xmlNode is any XML element.
type xmlNode struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []xmlNode  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (n xmlNode) attr(name string) (string, bool) {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// junitRules are the rules of junit-10.xsd (the schema that Jenkins' xUnit
// plugin publishes) for the elements that we write: attributes that must and
// may be there, and the children allowed.
var junitRules = map[string]struct{ must, may, children []string }{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "disabled", "errors"}, []string{"testsuite"}},
	"testsuite": {[]string{"name", "tests"}, []string{"failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package", "group", "assertions", "log", "url", "file", "version"},
		[]string{"properties", "testcase", "system-out", "system-err"}},
	"properties": {nil, nil, []string{"property"}},
	"property":   {[]string{"name"}, []string{"value"}, nil},
	"testcase":   {[]string{"name"}, []string{"classname", "time", "group", "assertions", "status", "class", "file", "line", "url", "log"}, []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"failure":    {nil, []string{"type", "message"}, nil},
	"error":      {nil, []string{"type", "message"}, nil},
	"skipped":    {nil, []string{"type", "message"}, nil},
	"system-out": {nil, nil, nil},
}

var (
	sutTime  = regexp.MustCompile(`^([0-9]*\.)?[0-9]+$`)              // the schema's type SUREFIRE_TIME, in part
	isoStamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`) // ISO 8601 without a zone
)

func checkJUnit(n xmlNode) error {
	name := n.XMLName.Local
	rule, known := junitRules[name]
	if !known {
		return fmt.Errorf("element %s is not in the schema", name)
	}
	for _, must := range rule.must {
		if _, there := n.attr(must); !there {
			return fmt.Errorf("%s lacks %s", name, must)
		}
	}
	for _, a := range n.Attrs {
		if !slices.Contains(rule.must, a.Name.Local) && !slices.Contains(rule.may, a.Name.Local) {
			return fmt.Errorf("%s may not have %s", name, a.Name.Local)
		}
		if a.Name.Local == "time" && !sutTime.MatchString(a.Value) || a.Name.Local == "timestamp" && !isoStamp.MatchString(a.Value) {
			return fmt.Errorf("%s %s=%q", name, a.Name.Local, a.Value)
		}
	}
	if name == "properties" && len(n.Children) == 0 {
		return fmt.Errorf("properties without a property")
	}
	for _, c := range n.Children {
		if !slices.Contains(rule.children, c.XMLName.Local) {
			return fmt.Errorf("%s may not be in %s", c.XMLName.Local, name)
		}
		if err := checkJUnit(c); err != nil {
			return err
		}
	}
	return checkTotals(n)
}

// checkTotals compares the counts of a suite with its cases, and sees to it
// that a case ended in one way only.
func checkTotals(n xmlNode) error {
	counted := map[string]int{}
	for _, c := range n.Children {
		switch c.XMLName.Local {
		case "testcase":
			counted["tests"]++
			ways := 0
			for _, way := range c.Children {
				if plural := map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}[way.XMLName.Local]; plural != "" {
					counted[plural]++
					ways++
				}
			}
			if ways > 1 {
				return fmt.Errorf("a case ended in %d ways", ways)
			}
		case "testsuite":
			for _, name := range []string{"tests", "failures", "errors"} {
				var k int
				v, _ := c.attr(name)
				fmt.Sscan(v, &k)
				counted[name] += k
			}
		}
	}
	if !strings.HasPrefix(n.XMLName.Local, "testsuite") {
		return nil
	}
	for _, name := range []string{"tests", "failures", "errors", "skipped"} {
		if v, there := n.attr(name); there && v != fmt.Sprint(counted[name]) {
			return fmt.Errorf("%s: %s=%s, counted %d", n.XMLName.Local, name, v, counted[name])
		}
	}
	return nil
}

func parseJUnit(t *testing.T, write func(io.Writer) error) xmlNode {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	var root xmlNode
	if err := xml.Unmarshal(b.Bytes(), &root); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	return root
}

func TestJUnitKeepsTheRulesOfItsSchema(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"an invalid run":          func(w io.Writer) error { return JUnit(w, failoverRun()) },
		"an unknown run":          func(w io.Writer) error { return JUnit(w, unknownRun()) },
		"a run with hostile text": func(w io.Writer) error { return JUnit(w, hostileRun()) },
		"nothing judged":          func(w io.Writer) error { return JUnit(w, Run{Verdict: &checker.Verdict{Outcome: checker.Unknown}}) },
		"a matrix":                func(w io.Writer) error { m := fullMatrix(); m.ByClaims = false; return m.JUnit(w) },
		"a matrix by claims":      fullMatrix().JUnit,
		"a hostile matrix":        hostileMatrix().JUnit,
		"an empty matrix":         Matrix{}.JUnit,
	} {
		if err := checkJUnit(parseJUnit(t, write)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheJUnitRulesBite(t *testing.T) {
	for _, bad := range []string{
		`<testsuites><testsuite name="a"/></testsuites>`,
		`<testsuites><testsuite name="a" tests="2"><testcase name="x"/></testsuite></testsuites>`,
		`<testsuites><testsuite name="a" tests="1"><testcase name="x"><failure/><error/></testcase></testsuite></testsuites>`,
		`<testsuites><testsuite name="a" tests="0" colour="red"/></testsuites>`,
		`<testsuites><verdict/></testsuites>`,
		`<testsuites time="1 s"/>`,
	} {
		var n xmlNode
		if err := xml.Unmarshal([]byte(bad), &n); err != nil {
			t.Fatal(err)
		}
		if checkJUnit(n) == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
}

func TestUnknownIsNotGreenInJUnit(t *testing.T) {
	ending := func(root xmlNode, name string) string {
		for _, s := range root.Children {
			for _, c := range s.Children {
				if got, _ := c.attr("name"); got == name && c.XMLName.Local == "testcase" {
					if len(c.Children) == 0 {
						return "passed"
					}
					return c.Children[0].XMLName.Local
				}
			}
		}
		return "absent"
	}
	run := parseJUnit(t, func(w io.Writer) error { return JUnit(w, unknownRun()) })
	byClaims, plain := parseJUnit(t, fullMatrix().JUnit), fullMatrix()
	plain.ByClaims = false
	cells := parseJUnit(t, plain.JUnit)
	for _, c := range []struct {
		what, got, want string
	}{
		{"a property that was not decided", ending(run, "stuck-lock"), "error"},
		{"a run that meant too little", ending(run, "run was conclusive"), "error"},
		{"a property that held", ending(run, "oversell"), "passed"},
		{"an unknown cell", ending(cells, "none"), "error"},
		{"an unknown cell that claims to hold, by claims", ending(byClaims, "none"), "failure"},
		{"an invalid cell", ending(cells, "failover"), "failure"},
		{"an invalid cell that claims to break", ending(byClaims, "failover"), "system-out"},
		{"a cell that could not run", ending(cells, "pause"), "error"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}
