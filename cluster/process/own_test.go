package process

import (
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/workload/env"
)

func TestTheProxiesOfTwoRunsKeepOutOfEachOthersWay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the whole of 127.0.0.0/8")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	var hosts []string
	for range 3 {
		l, err := (&own{worker: 249}).place(4, uint16(port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addr := l.Addr().(*net.TCPAddr)
		if addr.Port != port {
			t.Errorf("its port is %d, want the server's, %d", addr.Port, port)
		}
		hosts = append(hosts, addr.IP.String())
	}
	if want := []string{"127.8.250.5", "127.9.250.5", "127.10.250.5"}; !slices.Equal(hosts, want) {
		t.Errorf("places are %v, want %v", hosts, want)
	}
}

func TestAProgramIsToldWhereItsProxiesAre(t *testing.T) {
	s := Servers{Lock: env.Sentinel, Redis: []Endpoint{{Name: "redis-1", Addr: "10.9.0.2:6379"}}, Sentinels: []Endpoint{{Name: "sentinel-1", Addr: "10.9.0.5:26379"}}}
	places := map[string]string{"10.9.0.2:6379": "127.8.4.1:6379", "10.9.0.5:26379": "127.8.4.2:26379"}
	for kind, want := range map[env.Kind][3][]string{
		env.Single:       {{"127.8.4.1:6379"}, nil, nil},
		env.Sentinel:     {nil, {"127.8.4.2:26379"}, nil},
		env.RedisCluster: {nil, nil, {"127.8.4.1:6379"}},
	} {
		s.Lock = kind
		h := (&own{p: &process{Hello: Hello{Servers: s, Own: &cluster.Own{Command: []string{"x"}}}}, places: places}).hello((&World{}).Env(3, 1, nil))
		if !slices.Equal(h.Redis, want[0]) || !slices.Equal(h.Sentinels, want[1]) || !slices.Equal(h.Cluster, want[2]) || h.Worker != 3 {
			t.Errorf("%s: told %+v", kind, h)
		}
	}
}
