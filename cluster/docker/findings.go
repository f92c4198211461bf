//go:build unix

package docker

import "errors"

// mostFindings bounds what is told of programs.
const mostFindings = 100

// Findings are what was wrong with the programs under test.
func (c *system) Findings() []error {
	c.emitMu.Lock()
	defer c.emitMu.Unlock()
	return c.findings
}

func (c *system) found(text string) {
	c.emitMu.Lock()
	defer c.emitMu.Unlock()
	if len(c.findings) < mostFindings {
		c.findings = append(c.findings, errors.New(text))
	}
}
