package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// PlannedServing writes how pods serve the model of a plan: groups and layout, the weights and how long a start may take, and what this
// choice costs.
func PlannedServing(w io.Writer, o TextOptions, s *fabric.Serving) error {
	p := newPrinter(o)
	pods := s.Pods
	p.line(p.paint(bold, "SERVED") + "  " + fabric.Printable(fmt.Sprintf("%s by %s %s: %s of %s, tp %d, pp %d", s.Model, s.Engine, s.Version,
		fabric.Count(pods.Groups, "group"), fabric.Count(pods.Size, "pod"), s.Layout.TP, s.Layout.PP)))
	for _, r := range servedRows(s) {
		p.fields(strings.ToLower(r.Label), r.Lines)
	}
	return p.writeTo(w)
}

func servedRows(s *fabric.Serving) []row {
	pods, w, t := s.Pods, s.Pods.Weights, s.Pods.Times
	notes := t.Notes
	if pods.Idle > 0 {
		notes = append(slices.Clone(notes), "the machines have room for more: "+fabric.Count(pods.Idle, "pod"))
	}
	class := "the storage class of the cluster"
	if w.Class != "" {
		class = "storage class " + w.Class
	}
	rows := []row{
		{Label: "Note", Lines: notes},
		{Label: "Image", Lines: []string{s.Image + " (" + s.ImageSource + ")"}},
		{Label: "Weights", Lines: []string{
			fmt.Sprintf("%.1f GB, %s of %d GiB, %s", float64(w.DownloadBytes)/1e9, w.Mode, w.VolumeBytes>>30, class),
			fmt.Sprintf("read at %g GB/s (%s)", w.GBs, w.GBsSource),
		}},
		{Label: "Start", Lines: []string{fmt.Sprintf("%d s at most: %d until all pods run, %d imports, %d weights, %d kernels and graphs", t.Startup(), t.Join, t.Imports, t.Load, t.Graphs)}},
		{Label: "Requests", Lines: []string{fmt.Sprintf("http://%s-api.%s:%d/v1", pods.Name, pods.Namespace, pods.Port)}},
	}
	return slices.DeleteFunc(rows, func(r row) bool { return len(r.Lines) == 0 })
}
