package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

//go:embed page.css *.html.tmpl
var pageFiles embed.FS

// frame is what every page has around its sections: {{template "head" .Frame}} writes it, with the style,
// and {{template "foot"}} ends the page. frame.html.tmpl has the other parts that pages share: block, rows, table.
type frame struct {
	Page     string // title of the browser's tab
	Label    string // what kind of page: "report of run", "explain"
	ID       string // beside the label; may be empty
	Title    string
	Facts    []pair
	Long     bool   // a fact per line
	Status   string // pass, fail, unknown: the colour of the verdict; empty: the page has none
	Word     string // the verdict in a word
	Sentence string
	Note     string // under the sentence; may be empty
	Tiles    []tile
}

// PageInfo is when, by what and by which version a page was made. Empty fields read "not recorded".
type PageInfo struct {
	Written time.Time
	Version string // of railwright
	Command string // as it was called
}

func (i PageInfo) facts() []pair {
	written := "not recorded"
	if !i.Written.IsZero() {
		written = i.Written.UTC().Format(time.DateTime) + " UTC"
	}
	return []pair{{"Written", written}, {"railwright", orElse(i.Version, "version not recorded")}, {"Command", printable(orElse(i.Command, "not recorded"))}}
}

// writePage writes one page that needs nothing else: no script, no other file, no network. It reads in a
// light and a dark scheme and on paper. The template is the file of that name; v has a field Frame.
func writePage(w io.Writer, file string, v any) error {
	style := func() (template.CSS, error) {
		text, err := pageFiles.ReadFile("page.css")
		return template.CSS(text), err //nolint:gosec // embedded at build time
	}
	t, err := template.New(file).Funcs(template.FuncMap{"style": style}).ParseFS(pageFiles, file, "frame.html.tmpl")
	if err != nil {
		return fmt.Errorf("template %q: %w", file, err)
	}
	var page bytes.Buffer
	if err := t.Execute(&page, v); err != nil {
		return fmt.Errorf("page %q: %w", file, err)
	}
	_, err = w.Write(page.Bytes())
	return err
}

// figure is a picture of draw for a page.
func figure(draw func(io.Writer) error) (template.HTML, error) {
	var svg bytes.Buffer
	err := draw(&svg)
	return template.HTML(svg.String()), err //nolint:gosec // draw escapes every name
}

// passWord is the verdict of findings as a word.
func passWord(s fabric.Status) string {
	switch s {
	case fabric.Pass:
		return "Passed"
	case fabric.Fail:
		return "Failed"
	default:
		return "Unknown"
	}
}

// HTML writes a run as one page. Beyond some hundreds of rows its tables count instead of listing, so that
// the page of 1,000 hosts stays under 5 MB.
func HTML(w io.Writer, r Run) error {
	v := newView(r)
	var err error
	if v.Cabling, err = figure(func(w io.Writer) error { return draw.Cabling(w, r.Plan, r.marks(), r.Plugged) }); err != nil {
		return fmt.Errorf("cabling: %w", err)
	}
	if v.MeshMap, err = figure(func(w io.Writer) error { return draw.Mesh(w, r.Mesh) }); err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	return writePage(w, "page.html.tmpl", v)
}
