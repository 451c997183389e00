package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"

	"railwright.dev/railwright/internal/draw"
)

//go:embed page.html.tmpl page.css
var pageFiles embed.FS

// HTML writes a run as one page that needs nothing else: no script, no other file, no network. It reads in
// a light and a dark scheme and on paper. Beyond some hundreds of rows its tables count instead of listing,
// so that the page of 1,000 hosts stays under 5 MB.
func HTML(w io.Writer, r Run) error {
	t, err := template.New("page.html.tmpl").ParseFS(pageFiles, "page.html.tmpl")
	if err != nil {
		return fmt.Errorf("page template: %w", err)
	}
	style, err := pageFiles.ReadFile("page.css")
	if err != nil {
		return fmt.Errorf("page style: %w", err)
	}
	v := newView(r)
	v.Style = template.CSS(style) //nolint:gosec // embedded at build time
	var svg bytes.Buffer
	if err := draw.Cabling(&svg, r.Plan, r.marks()); err != nil {
		return fmt.Errorf("cabling: %w", err)
	}
	v.Cabling = template.HTML(svg.String()) //nolint:gosec // draw escapes every name
	svg.Reset()
	if err := draw.Mesh(&svg, r.Mesh); err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	v.MeshMap = template.HTML(svg.String()) //nolint:gosec // draw escapes every name
	var page bytes.Buffer
	if err := t.Execute(&page, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(page.Bytes())
	return err
}
