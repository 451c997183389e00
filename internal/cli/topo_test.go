package cli

import (
	"reflect"
	"testing"
)

func TestTopoShowOptions(t *testing.T) {
	a := &app{}
	for _, c := range []struct {
		name string
		args []string
		want topoShowOptions
	}{
		{"this host", nil, topoShowOptions{nodes: 1}},
		{"a file", []string{"topo.xml", "--svg", "-"}, topoShowOptions{files: []string{"topo.xml"}, svg: "-", nodes: 1}},
		{"a machine", []string{"--machine", "hgx-h100"}, topoShowOptions{machineOptions: machineOptions{machine: "hgx-h100"}, nodes: 1}},
		{"what NCCL derives", []string{"--snapshot", "host1.json", "--nccl", "--nodes", "2"},
			topoShowOptions{machineOptions: machineOptions{snapshot: "host1.json"}, nccl: true, nodes: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := parsed(t, a.topoShowCommand, c.args...)
			if len(o.files) == 0 {
				o.files = nil
			}
			if err != nil || !reflect.DeepEqual(o, c.want) {
				t.Errorf("%+v, %v; want %+v", o, err, c.want)
			}
		})
	}
	for name, args := range map[string][]string{
		"two files":             {"a.xml", "b.xml"},
		"two sources":           {"--machine", "hgx-h100", "--snapshot", "host1.json"},
		"a picture with NCCL":   {"--svg", "a.svg", "--nccl"},
		"an unknown flag":       {"--gpu", "h100"},
		"nodes without a value": {"--nodes"},
		"no nodes":              {"--nccl", "--nodes", "0"},
		"too many nodes":        {"--nccl", "--nodes", "99999999"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.topoShowCommand, args...); err == nil {
				t.Error("taken")
			}
		})
	}
}

func TestTopoNCCLOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.topoNCCLCommand, "--machine", "hgx-h100", "--guest", "vm.json", "--label", "S1=0000:17:00.0", "--label", "S2=0000:18:00.0", "--rccl", "--out", "topo.xml")
	want := topoNCCLOptions{
		machineOptions: machineOptions{machine: "hgx-h100"}, guest: "vm.json",
		labels: []string{"S1=0000:17:00.0", "S2=0000:18:00.0"}, rccl: true, out: "topo.xml",
	}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	if _, err := parsed(t, a.topoNCCLCommand, "topo.xml"); err == nil {
		t.Error("an argument was accepted")
	}
}

func TestTopoLintOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.topoLintCommand, "a.xml", "b.xml")
	if want := (topoLintOptions{files: []string{"a.xml", "b.xml"}}); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	o, err = parsed(t, a.topoLintCommand, "a.xml", "--fix", "--out", "b.xml")
	if want := (topoLintOptions{files: []string{"a.xml"}, fix: true, out: "b.xml"}); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	for name, args := range map[string][]string{
		"no file": nil, "out without fix": {"a.xml", "--out", "b.xml"}, "two files to fix": {"a.xml", "b.xml", "--fix"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.topoLintCommand, args...); err == nil {
				t.Error("taken")
			}
		})
	}
}
