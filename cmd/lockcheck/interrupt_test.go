//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCheckEndsAtTheFirstSignal interrupts a check that waits for the rest of its
// history. The pipe takes more than it holds only once check reads from it, which
// is after it listens for signals.
func TestCheckEndsAtTheFirstSignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := exec.CommandContext(ctx, self, "check", "-")
			p.Env = append(os.Environ(), asProgram+"=1")
			var stdout, stderr bytes.Buffer
			p.Stdout, p.Stderr = &stdout, &stderr
			in, err := p.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, unfinished(2<<20)); err != nil {
				t.Fatal(err)
			}
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err = p.Wait()
			if ee, ok := errors.AsType[*exec.ExitError](err); !ok || ee.ExitCode() != exitInterrupted {
				t.Errorf("ended with %v, want exit code %d", err, exitInterrupted)
			}
			if said := stderr.String(); stdout.Len() > 0 || said != "lockcheck: -: interrupted before it was judged\n" {
				t.Errorf("said %q and %q", &stdout, said)
			}
		})
	}
}

// unfinished is a history of at least size bytes that goes on.
func unfinished(size int) string {
	var b strings.Builder
	b.WriteString(`{"format":"lockcheck/1","lock":{"none":true},"initial":5,"max-delay":0}` + "\n")
	for i := 1; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"time":%d,"process":0,"type":"invoke","f":"read","op":%d,"key":"s"}`+"\n", i, i)
		fmt.Fprintf(&b, `{"time":%d,"process":0,"type":"ok","f":"read","op":%d,"value":5}`+"\n", i, i)
	}
	return b.String()
}
