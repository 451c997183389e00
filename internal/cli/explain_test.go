package cli

import (
	"reflect"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestExplainOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.explainCommand, "table.txt", "-", "--machine", "hgx-h100", "--nodes", "2", "--env", "NCCL_ALGO=Ring", "--snapshot", "facts", "--html", "page.html")
	want := explainOptions{
		files: []string{"table.txt", "-"}, hw: fabric.Hardware{Machine: "hgx-h100", Nodes: 2},
		env: []string{"NCCL_ALGO=Ring"}, snapshots: []string{"facts"}, html: "page.html",
	}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	if _, err := parsed(t, a.explainCommand); err == nil {
		t.Error("no file is accepted")
	}
}

func TestPredictOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.predictCommand, "--gpu", "h100", "--nics", "8", "--rate", "400", "--sizes", "1M,1G", "--worker", "0-3/0-3", "--worker", "4-7/any4", "--html", "page.html")
	want := predictOptions{
		hw: fabric.Hardware{GPU: "h100", NICsPerNode: 8, NICGbps: 400}, sizes: "1M,1G", workers: []string{"0-3/0-3", "4-7/any4"}, html: "page.html",
	}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	for name, args := range map[string][]string{"an argument": {"table.txt"}, "two sources of machines": {"-f", "cluster.yaml", "--topo", "topo.xml"}} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.predictCommand, args...); err == nil {
				t.Error("accepted")
			}
		})
	}
}
