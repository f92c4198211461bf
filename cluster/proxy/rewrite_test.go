package proxy

import (
	"strconv"
	"strings"
	"testing"
)

func TestRepliesTellWhereProxiesAre(t *testing.T) {
	bulk := func(items ...string) string {
		var b strings.Builder
		for _, s := range items {
			b.WriteString("$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct{ reply, want string }{
		"get-master-addr-by-name":               {"*2\r\n" + bulk("10.9.0.2", "6379"), "*2\r\n" + bulk("127.8.3.1", "6379")},
		"an address that begins like another's": {bulk("10.9.0.21"), bulk("10.9.0.21")},
		"MOVED":                                 {"-MOVED 3999 10.9.0.3:6379\r\n", "-MOVED 3999 127.8.3.2:6379\r\n"},
		"ROLE":                                  {"*5\r\n" + bulk("slave", "10.9.0.2") + ":6379\r\n", "*5\r\n" + bulk("slave", "127.8.3.1") + ":6379\r\n"},
		"switch-master":                         {"*3\r\n" + bulk("message", "+switch-master", "mymaster 10.9.0.2 6379 10.9.0.3 6379"), "*3\r\n" + bulk("message", "+switch-master", "mymaster 127.8.3.1 6379 127.8.3.2 6379")},
		"CLUSTER NODES":                         {bulk("a 10.9.0.2:6379@16379 master\nb 10.9.0.3:6379@16379 slave\n"), bulk("a 127.8.3.1:6379@16379 master\nb 127.8.3.2:6379@16379 slave\n")},
		"null, numbers and empty strings":       {"$-1\r\n:10\r\n$0\r\n\r\n*0\r\n_\r\n", "$-1\r\n:10\r\n$0\r\n\r\n*0\r\n_\r\n"},
		"a bulk string with line ends":          {bulk("x\r\n$5\r\ny"), bulk("x\r\n$5\r\ny")},
		"one that is too long to look at":       {bulk(strings.Repeat("10.9.0.2\r\n", mostHeld/8)) + bulk("10.9.0.2"), bulk(strings.Repeat("10.9.0.2\r\n", mostHeld/8)) + bulk("127.8.3.1")},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(c.reply); size = size*3 + 1 {
				a := &Addresses{Hosts: map[string]string{"10.9.0.2": "127.8.3.1", "10.9.0.3": "127.8.3.2"}}
				var got []byte
				if len(c.reply) > mostHeld {
					size = max(size, 4096)
				}
				for rest := c.reply; rest != ""; {
					n := min(size, len(rest))
					got = append(got, a.Reply([]byte(rest[:n]))...)
					rest = rest[n:]
				}
				if string(got) != c.want {
					t.Fatalf("in pieces of %d: %.300q", size, got)
				}
			}
		})
	}
}
