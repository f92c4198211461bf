//go:build linux

package sim

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
)

// perl is a program beside one worker: say(TEXT) answers the request that is
// under way, ask(SOCKET, COMMAND) asks a server.
const perl = `use strict; use IO::Socket::INET; use JSON::PP; use Time::HiRes qw(sleep time);
$| = 1;
my $hello = decode_json(scalar <STDIN>);
sub dial { IO::Socket::INET->new(PeerAddr => shift, Timeout => 1) or die "no connection: $@" }
sub ask { my ($s, $command) = @_; print $s "$command\r\n"; my $l = <$s>; $l =~ s/\r\n//; $l }
my $id;
sub say { print encode_json({ id => $id, ok => JSON::PP::true, token => shift }), "\n" }
print qq({"ready":"perl"}\n);
while (<STDIN>) { $id = decode_json($_)->{id};
`

// withOwn runs a program beside one worker, who asks it once. It answers the
// answer. act is done a second later.
func withOwn(t *testing.T, top env.Kind, program string, act func(ctx context.Context, c cluster.Cluster)) protocol.Answer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.pl")
	if err := os.WriteFile(path, []byte(perl+program+"\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var got protocol.Answer
	c, err := New(Config{}).Cell(t.Context(), cluster.Options{
		Topology: env.Topology{Lock: top}, Seed: 1, Workers: 1,
		Own: &cluster.Own{Command: []string{"perl", path}, Hello: protocol.Hello{TTL: 5000}},
		Program: func(ctx context.Context, _ []byte, e *env.Env, _ env.Wire) error {
			got = e.Own.Ask(ctx, protocol.Request{Do: protocol.Acquire, Key: "k"})
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(t.Context(), func(ctx context.Context) error {
		if err := c.StartWorkers(ctx); err != nil {
			return err
		}
		if err := c.Sleep(ctx, time.Second); err != nil {
			return err
		}
		act(ctx, c)
		_, err := c.AwaitWorkers(ctx, 30*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range c.(*system).Findings() {
		t.Error(finding)
	}
	return got
}

func TestAProgramHearsOfANewMaster(t *testing.T) {
	program := `my $s = dial($hello->{sentinels}[0]);
	ask($s, "SUBSCRIBE +switch-master"); my $l;
	do { $l = <$s> } until $l =~ /^lockcheck /;
	$l =~ s/\r\n//; say($l);`
	got := withOwn(t, env.Sentinel, program, func(ctx context.Context, c cluster.Cluster) {
		if _, err := c.Inject(ctx, histories.Fault{F: histories.Failover, Targets: []string{"master"}}); err != nil {
			t.Error(err)
		}
	})
	words := strings.Fields(got.Token)
	if len(words) != 5 || words[1] != "10.8.0.1" || words[3] == "10.8.0.1" || !strings.HasPrefix(words[3], "10.8.0.") {
		t.Errorf("it was told %q (%s %s)", got.Token, got.Outcome, got.Why)
	}
}

func TestAPausedProgramStandsStill(t *testing.T) {
	program := `my $began = time; sleep 0.1 for 1 .. 20; say(sprintf "%.1f", time - $began);`
	began := withOwn(t, env.Single, program, func(context.Context, cluster.Cluster) {})
	if began.Token != "2.0" {
		t.Errorf("without a pause it took %s s", began.Token)
	}
	got := withOwn(t, env.Single, program, func(ctx context.Context, c cluster.Cluster) {
		if _, err := c.Inject(ctx, histories.Fault{F: histories.Pause, Targets: []string{"workers"}}); err != nil {
			t.Error(err)
		}
		if err := c.Sleep(ctx, 5*time.Second); err != nil {
			t.Error(err)
		}
		if _, err := c.Inject(ctx, histories.Fault{F: histories.Resume, Targets: []string{"workers"}}); err != nil {
			t.Error(err)
		}
	})
	if got.Outcome != protocol.OK || got.Token < "6.8" || got.Token > "7.1" {
		t.Errorf("with a pause of 5 s it took %s s (%s %s)", got.Token, got.Outcome, got.Why)
	}
}

func TestAProgramsClockIsItsHosts(t *testing.T) {
	program := `my $before = time; sleep 2; say(sprintf "%.1f", time - $before);`
	got := withOwn(t, env.Single, program, func(ctx context.Context, c cluster.Cluster) {
		if _, err := c.Inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"workers"}, Offset: time.Hour}); err != nil {
			t.Error(err)
		}
	})
	if got.Token != "3602.0" {
		t.Errorf("it saw %s s pass", got.Token)
	}
}

func TestAServersMachineThatIsGoneAnswersNothing(t *testing.T) {
	program := `my $s = dial($hello->{redis}[0]); ask($s, "SET k v"); sleep 2;
	my $began = time; my $t = IO::Socket::INET->new(PeerAddr => $hello->{redis}[0], Timeout => 1);
	say(sprintf "%s %.1f", $t ? "connected" : "no connection", time - $began);`
	got := withOwn(t, env.Single, program, func(ctx context.Context, c cluster.Cluster) {
		if _, err := c.Inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"redis-1"}}); err != nil {
			t.Error(err)
		}
	})
	if got.Token != "no connection 1.0" {
		t.Errorf("it says %q", got.Token)
	}
}
