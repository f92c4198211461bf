package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// frame is what every page of ours has: its style and script inline, and a
// policy that lets a browser use nothing but these two.
type frame struct {
	Style  template.CSS
	Script template.JS
	Policy string
}

// scripts are the files of the timeline's script, in the order in which they
// are joined into one.
var scripts = []string{"data.js", "view.js", "draw.js", "lanes.js", "input.js", "tell.js", "start.js"}

// newFrame joins the styles and scripts of a page.
func newFrame(styles []string, scripts []string) (frame, error) {
	style, err := join(styles)
	if err != nil {
		return frame{}, err
	}
	script := ""
	if len(scripts) > 0 {
		body, err := join(scripts)
		if err != nil {
			return frame{}, err
		}
		script = "'use strict';\n(() => {\n" + body + "})();\n"
	}
	return frame{template.CSS(style), template.JS(script), policy(style, script)}, nil
}

// join reads assets one after another.
func join(names []string) (string, error) {
	var b strings.Builder
	for _, n := range names {
		data, err := assets.ReadFile("assets/" + n)
		if err != nil {
			return "", fmt.Errorf("assets: %w", err)
		}
		b.Write(data)
	}
	return b.String(), nil
}

// policy is a Content-Security-Policy by which a page may use its own inline
// style and script, told by their hashes, and images in data: addresses (its
// empty icon), and nothing else: no network, no frames, no forms, and no script
// that a history might smuggle in.
func policy(style, script string) string {
	p := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src '" + hash(style) + "'"
	if script != "" {
		p += "; script-src '" + hash(script) + "'"
	}
	return p
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// scriptJSON is v as JSON that can stand in a script element: <, > and & are
// escaped, so that no string can end the element.
func scriptJSON(v any) (template.JS, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	return template.JS(data), nil
}

// render executes one of our templates.
func render(w io.Writer, name string, v any) error {
	t, err := template.New(name).Funcs(template.FuncMap{"count": count[int], "count64": count[int64], "inc": func(i int) int { return i + 1 }, "span": spanOf[time.Duration], "span64": spanOf[int64], "shorten": shorten}).
		ParseFS(assets, "assets/"+name)
	if err != nil {
		return fmt.Errorf("template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = b.WriteTo(w)
	return err
}

// HTML writes the report of one run as a single file that needs no network.
// It opens at the first violation.
func HTML(w io.Writer, r Run) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	if p.frame, err = newFrame([]string{"common.css", "report.css"}, scripts); err != nil {
		return err
	}
	return render(w, "report.html", p)
}
