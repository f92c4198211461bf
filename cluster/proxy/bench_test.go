package proxy

import (
	"bufio"
	"cmp"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// realServer starts a redis-server.
func realServer(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	_ = l.Close()
	cmd := exec.Command("redis-server", "--port", strconv.Itoa(addr.Port), "--save", "", "--dir", b.TempDir())
	if err := cmd.Start(); err != nil {
		b.Fatalf("redis-server (apt-get install redis-server): %v", err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); ; {
		c, err := net.Dial("tcp", addr.String())
		if err == nil {
			_ = c.Close()
			return addr.String()
		}
		if time.Now().After(end) {
			b.Fatal(err)
		}
	}
}

const command = "*6\r\n$3\r\nSET\r\n$4\r\nlock\r\n$5\r\ntoken\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n5000\r\n"

// ask sends n commands one after the other, thinks between them, and answers
// how long each took.
func ask(b *testing.B, addr string, n int, think time.Duration) []time.Duration {
	c, lines := dial(b, addr)
	_ = c.SetDeadline(time.Time{})
	return askOn(b, c, lines, n, think)
}

func askOn(b *testing.B, c net.Conn, lines *bufio.Reader, n int, think time.Duration) []time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		if _, err := c.Write([]byte(command)); err != nil {
			b.Error(err)
			return nil
		}
		if _, err := lines.ReadString('\n'); err != nil {
			b.Error(err)
			return nil
		}
		took[i] = time.Since(began)
		if think > 0 {
			time.Sleep(think)
		}
	}
	return took
}

// BenchmarkProxy is the cost of a command through the proxy beside one to the
// same server, in turn: the median of each, and their difference.
func BenchmarkProxy(b *testing.B) {
	server := realServer(b)
	_, front := front(b, server, nil)
	direct, dlines := dial(b, server)
	through, tlines := dial(b, front)
	_, _ = direct.SetDeadline(time.Time{}), through.SetDeadline(time.Time{})
	var d, p []time.Duration
	for b.Loop() {
		d = append(d, askOn(b, direct, dlines, 10, 0)...)
		p = append(p, askOn(b, through, tlines, 10, 0)...)
	}
	b.ReportMetric(median(d), "µs-direct")
	b.ReportMetric(median(p), "µs-proxied")
	b.ReportMetric(median(p)-median(d), "µs-more")
}

// BenchmarkProxiedWorkers is the throughput of ten workers who think for 1 ms
// between two commands, far less than a sale takes, with and without a proxy
// for each.
func BenchmarkProxiedWorkers(b *testing.B) {
	const workers, commands = 10, 200
	server := realServer(b)
	run := func(addr func() string) float64 {
		var all sync.WaitGroup
		began := time.Now()
		for range workers {
			to := addr()
			all.Go(func() { ask(b, to, commands, time.Millisecond) })
		}
		all.Wait()
		return workers * commands / time.Since(began).Seconds()
	}
	var direct, proxied []float64
	for b.Loop() {
		direct = append(direct, run(func() string { return server }))
		proxied = append(proxied, run(func() string { _, a := front(b, server, nil); return a }))
	}
	slices.Sort(direct)
	slices.Sort(proxied)
	d, p := direct[len(direct)/2], proxied[len(proxied)/2]
	b.ReportMetric(d, "cmd/s-direct")
	b.ReportMetric(p, "cmd/s-proxied")
	b.ReportMetric(100*p/d, "%-of-direct")
}

func median(all []time.Duration) float64 {
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	return float64(all[len(all)/2].Nanoseconds()) / 1000
}
