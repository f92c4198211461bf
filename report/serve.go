package report

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"
)

// Handler lets a browser read a store of runs: the list, newest first, with
// filters; two runs side by side; every file of a run; a run as one download.
//
// No request changes anything: only GET and HEAD are answered. Nothing
// outside the store can be read: only what plainFS shows exists, and the
// caller passes a file system that cannot be left either (os.OpenRoot). Pages
// of ours carry a policy that allows no script; pages of the store, which
// may be anybody's, run in a sandbox without an origin and without network.
//
// A page on the internet could make a browser ask for a loopback address
// under a name of its own and so read the store (DNS rebinding). Requests are
// therefore answered only if they ask for an address, for localhost, or for
// one of hosts.
func Handler(store fs.FS, hosts ...string) http.Handler {
	plain := plainFS{store}
	s := &server{store: plain, hosts: hosts, runs: newRunCache(plain)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /compare", s.compare)
	mux.HandleFunc("GET /download/{name}", s.download)
	mux.HandleFunc("GET /store/{path...}", s.file)
	return s.guard(mux)
}

type server struct {
	store plainFS
	hosts []string
	runs  *runCache
}

// sandbox is the policy for pages of the store. It comes on top of the
// stricter one that report.html carries itself; porcupine's picture has none.
const sandbox = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard answers what may not be asked, and puts on every answer the headers
// that keep a browser within bounds.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		case !s.knows(r.Host):
			http.Error(w, "ask by address or as localhost", http.StatusMisdirectedRequest)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a request was meant for this server.
func (s *server) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || slices.Contains(s.hosts, host)
}

// types are the content types of what a store holds. Everything else is a
// download.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".json": "application/json", ".jsonl": "application/x-ndjson",
	".log": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".xml": "text/plain; charset=utf-8",
}

// file serves one file of the store.
func (s *server) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("path")
	info, err := s.store.Stat(name)
	if err != nil || info.IsDir() {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	f, err := s.store.Open(name)
	if err != nil {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Security-Policy", sandbox)
	kind, known := types[path.Ext(info.Name())]
	if !known {
		kind = "application/octet-stream"
		w.Header().Set("Content-Disposition", "attachment")
	}
	w.Header().Set("Content-Type", kind)
	if seeker, ok := f.(io.ReadSeeker); ok {
		http.ServeContent(w, r, "", info.ModTime(), seeker)
		return
	}
	if r.Method == http.MethodGet {
		io.Copy(w, f) // the client has gone if this fails
	}
}

// page writes one of our own pages.
func (s *server) page(w http.ResponseWriter, name string, v any, f frame) {
	var b bytes.Buffer
	if err := render(&b, name, v); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", f.Policy)
	w.Write(b.Bytes())
}

// ownFrame is the frame of our own pages: no script, and forms that ask this
// server.
func ownFrame() (frame, error) {
	f, err := newFrame([]string{"common.css", "store.css"}, nil)
	f.Policy = strings.Replace(f.Policy, "form-action 'none'", "form-action 'self'; frame-ancestors 'none'", 1)
	return f, err
}

// errNoRun says that a folder holds no run.
var errNoRun = errors.New("no run")

// when is the moment at which a run started: what its verdict says, else what
// its folder's name says.
func when(name string, d Document) time.Time {
	if !d.Started.IsZero() {
		return d.Started
	}
	stamp, _, _ := strings.Cut(name, "-")
	t, _ := time.Parse("20060102T150405.000Z", stamp)
	return t
}
