package report

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockcheck/lockcheck/checker"
)

const secret = "this lies outside the store"

// storeOfRuns makes a store with two judged runs and one that was not judged,
// a secret beside it, and links that lead to the secret.
func storeOfRuns(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	store := filepath.Join(base, "store")
	write := func(path string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save := func(name string, r Run) {
		var verdict, page bytes.Buffer
		if err := JSON(&verdict, r); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, r); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(store, name, "verdict.json"), verdict.Bytes())
		write(filepath.Join(store, name, "report.html"), page.Bytes())
		write(filepath.Join(store, name, "history.jsonl"), []byte("{\"format\":\"lockcheck/1\"}\n"))
	}
	save(oldRun, failoverRun())
	save(newRun, validRun())
	write(filepath.Join(store, brokenRun, "history.jsonl"), []byte("{}\n"))
	write(filepath.Join(store, "20261205T080000.000Z-table", "matrix.json"), []byte("{}"))
	write(filepath.Join(store, ".hidden", "verdict.json"), []byte(secret))
	write(filepath.Join(store, newRun, ".env"), []byte(secret))
	write(filepath.Join(base, "secret.txt"), []byte(secret))
	for link, to := range map[string]string{
		"latest":                    newRun,
		"out":                       base,
		oldRun + "/redis.log":       filepath.Join(base, "secret.txt"),
		oldRun + "/relative.log":    "../../secret.txt",
		"20270101T000000.000Z-evil": base,
	} {
		if err := os.Symlink(to, filepath.Join(store, link)); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

const (
	oldRun    = "20261204T101500.000Z-redis-lock-failover"
	newRun    = "20261205T090000.000Z-lua-stock-none"
	brokenRun = "20261206T090000.000Z-none-kill"
)

// validRun is a run in which nothing broke.
func validRun() Run {
	w := newWriter(failoverHeader())
	w.h.Header.Design, w.h.Header.Nemesis = "lua-stock", "none"
	w.op(0, "sell", "sku-1", ms, 3*ms, "ok", left(4))
	r := Run{Header: w.h.Header, History: &w.h, Started: failoverRun().Started.AddDate(0, 0, 1), Verdict: &checker.Verdict{
		Outcome: checker.Valid, Levels: map[checker.Level]checker.Outcome{checker.BusinessLevel: checker.Valid},
		Results: []checker.Result{{Property: checker.Oversell, Level: checker.BusinessLevel, Outcome: checker.Valid, Method: "exact"}},
		Counts:  checker.Counts{Ops: 1, Sold: 1, Had: 5, Outcomes: map[string]int{"sell ok": 1}},
	}}
	return r
}

// ask sends one request to the handler as a raw target, which no client
// library has tidied up.
func ask(h http.Handler, method, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL = &url.URL{Path: path, RawQuery: query}
	if decoded, err := url.PathUnescape(path); err == nil {
		r.URL.Path, r.URL.RawPath = decoded, path
	}
	r.RequestURI = target
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// stores are the handler over the file system that cmd passes, which cannot
// be left, and over one that follows links: the handler must not rely on it.
func stores(t *testing.T) map[string]http.Handler {
	dir := storeOfRuns(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return map[string]http.Handler{"a root": Handler(root.FS()), "a folder that follows links": Handler(os.DirFS(dir))}
}

func TestNothingOutsideTheStoreCanBeRead(t *testing.T) {
	targets := []string{
		"/store/../secret.txt", "/store/..%2fsecret.txt", "/store/%2e%2e/secret.txt", "/store/%2e%2e%2fsecret.txt",
		"/store/..%5csecret.txt", "/store//secret.txt", "/store/./../secret.txt", "/store/%2fetc%2fpasswd", "/store//etc/passwd",
		"/store/" + oldRun + "/../../secret.txt", "/store/" + oldRun + "/%2e%2e/%2e%2e/secret.txt", "/store/" + oldRun + "/redis.log",
		"/store/" + oldRun + "/relative.log", "/store/out/secret.txt", "/store/latest/history.jsonl", "/store/latest/.env",
		"/store/" + newRun + "/.env", "/store/.hidden/verdict.json", "/store/secret.txt%00.html", "/store/" + newRun + "/history.jsonl%00",
		"/store/", "/store/" + newRun, "/store/" + newRun + "/", "/store", "/secret.txt", "/../secret.txt",
		"/download/..%2f.zip", "/download/out.zip", "/download/latest.zip", "/download/..zip", "/download/.hidden.zip", "/download/" + oldRun,
		"/download/..%2fstore.zip", "/download/" + oldRun + "%2f..%2f..zip",
		"/compare?a=out&b=" + oldRun, "/compare?a=../store/" + oldRun + "&b=" + oldRun, "/compare?a=.hidden&b=" + oldRun, "/compare?a=&b=", "/compare?a=.&b=.", "/compare",
	}
	for name, h := range stores(t) {
		for _, target := range targets {
			w := ask(h, http.MethodGet, target)
			// The mux answers a path that is not clean with where the clean
			// one would be; asking there is covered by the other targets.
			if w.Code == http.StatusOK || strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s: GET %s answered %d %.80q", name, target, w.Code, w.Body)
			}
		}
	}
}

func TestADownloadHasThePlainFilesOfOneRun(t *testing.T) {
	for name, h := range stores(t) {
		for run, want := range map[string][]string{
			oldRun: {"history.jsonl", "report.html", "verdict.json"},
			newRun: {"history.jsonl", "report.html", "verdict.json"},
		} {
			w := ask(h, http.MethodGet, "/download/"+run+".zip")
			z, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, run, err)
			}
			var got []string
			for _, f := range z.File {
				got = append(got, strings.TrimPrefix(f.Name, run+"/"))
				r, _ := f.Open()
				data, err := io.ReadAll(r)
				if err != nil || bytes.Contains(data, []byte(secret)) {
					t.Errorf("%s: %s holds a secret or cannot be read: %v", name, f.Name, err)
				}
			}
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s (-want +got)\n%s", name, run, d)
			}
		}
	}
}

func TestOnlyReadingIsAnswered(t *testing.T) {
	for name, h := range stores(t) {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"} {
			for _, target := range []string{"/", "/compare", "/store/" + oldRun + "/history.jsonl", "/download/" + oldRun + ".zip"} {
				if w := ask(h, method, target); w.Code != http.StatusMethodNotAllowed {
					t.Errorf("%s: %s %s answered %d", name, method, target, w.Code)
				}
			}
		}
	}
}

func TestEveryAnswerSetsAPolicy(t *testing.T) {
	h := Handler(os.DirFS(storeOfRuns(t)))
	for _, target := range []string{
		"/", "/nowhere", "/compare", "/compare?a=" + oldRun + "&b=" + newRun,
		"/store/" + oldRun + "/report.html", "/store/" + oldRun + "/history.jsonl", "/download/" + oldRun + ".zip", "/store/../x",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			w := ask(h, method, target)
			if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || !strings.Contains(p, "frame-ancestors 'none'") {
				t.Errorf("%s %s: policy %q", method, target, p)
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s may be sniffed", method, target)
			}
		}
	}
	if p := ask(h, http.MethodGet, "/store/"+oldRun+"/report.html").Header().Get("Content-Security-Policy"); !strings.HasPrefix(p, "sandbox allow-scripts") || strings.Contains(p, "allow-same-origin") {
		t.Errorf("a page of the store runs outside a sandbox: %q", p)
	}
}

func TestRequestsUnderAForeignNameAreRefused(t *testing.T) {
	h := Handler(os.DirFS(storeOfRuns(t)), "lockcheck.example")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8077": 200, "127.0.0.1:8077": 200, "[::1]:8077": 200, "192.168.7.2": 200, "lockcheck.example:80": 200,
		"rebound.example": 421, "rebound.example:8077": 421, "localhost.rebound.example": 421, "": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q answered %d, want %d", host, w.Code, want)
		}
	}
}

func TestTheListIsNewestFirstAndFiltered(t *testing.T) {
	h := Handler(os.DirFS(storeOfRuns(t)))
	for _, c := range []struct {
		name, query string
		want        []string
	}{
		{"everything, newest first", "", []string{brokenRun, newRun, oldRun}},
		{"by design", "?design=redis-lock", []string{oldRun}},
		{"by nemesis", "?nemesis=none", []string{newRun}},
		{"by verdict", "?verdict=invalid", []string{oldRun}},
		{"by all three, none of which match together", "?design=redis-lock&nemesis=none&verdict=valid", nil},
		{"a page beyond the last shows the last", "?page=99", []string{brokenRun, newRun, oldRun}},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := ask(h, http.MethodGet, "/"+c.query).Body.String()
			var got []string
			for rest := body; ; {
				_, after, found := strings.Cut(rest, `<a href="/download/`)
				if !found {
					break
				}
				name, tail, _ := strings.Cut(after, ".zip")
				got, rest = append(got, name), tail
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if !strings.Contains(body, `<a href="/store/20261205T080000.000Z-table/index.html">2026-12-05 08:00:00</a>`) {
				t.Error("the list does not link to the table")
			}
			if strings.Contains(body, "evil") || strings.Contains(body, "latest") {
				t.Error("the list shows a link")
			}
		})
	}
}

func TestAChangedVerdictIsSeen(t *testing.T) {
	dir := storeOfRuns(t)
	h := Handler(os.DirFS(dir))
	ask(h, http.MethodGet, "/")
	var verdict bytes.Buffer
	if err := JSON(&verdict, failoverRun()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, brokenRun, "verdict.json"), verdict.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if body := ask(h, http.MethodGet, "/").Body.String(); strings.Contains(body, "not judged") {
		t.Error("the run is still shown as not judged")
	}
}

func TestTwoRunsSideBySide(t *testing.T) {
	h := Handler(os.DirFS(storeOfRuns(t)))
	w := ask(h, http.MethodGet, "/compare?a="+oldRun+"&b="+newRun)
	if w.Code != http.StatusOK {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	for _, want := range []string{"redis-lock × failover", "lua-stock × none", "double-hold", `<tr class="differs"><td>all</td><td>invalid</td><td>valid</td></tr>`, "Sold 1 of 5 units."} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

func TestPlainFSIsAFileSystemOfItsOwn(t *testing.T) {
	var got []string
	err := fs.WalkDir(plainFS{os.DirFS(storeOfRuns(t))}, ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			got = append(got, path)
		}
		return err
	})
	want := []string{
		oldRun + "/history.jsonl", oldRun + "/report.html", oldRun + "/verdict.json", "20261205T080000.000Z-table/matrix.json",
		newRun + "/history.jsonl", newRun + "/report.html", newRun + "/verdict.json", brokenRun + "/history.jsonl",
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}
