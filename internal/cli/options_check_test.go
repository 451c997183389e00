package cli

import (
	"slices"
	"testing"
)

func TestCheckOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.checkCommand, "-f", "cluster.yaml", "--snapshot", "facts", "--snapshot", "host1.txtar", "--html", "page.html")
	if err != nil || o.file != "cluster.yaml" || o.lab || !slices.Equal(o.snapshots, []string{"facts", "host1.txtar"}) || o.html != "page.html" {
		t.Errorf("%+v, %v", o, err)
	}
	for name, args := range map[string][]string{
		"the lab and a snapshot": {"--lab", "--snapshot", "facts"}, "the lab and a file": {"--lab", "-f", "x"}, "an argument": {"facts"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.checkCommand, args...); err == nil {
				t.Errorf("%q is accepted", args)
			}
		})
	}
}

func TestCollectOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.collectCommand, "--root", "tree", "--raw", "-", "--redact")
	if err != nil || o != (collectOptions{root: "tree", raw: "-", redact: true}) {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parsed(t, a.collectCommand, "--hosts", "gpu[001-512]", "-d", "facts")
	if err != nil || o != (collectOptions{hosts: "gpu[001-512]", folder: "facts"}) {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parsed(t, a.collectCommand, "--text", "gpu7")
	if err != nil || o != (collectOptions{text: "gpu7"}) {
		t.Errorf("%+v, %v", o, err)
	}
	for name, args := range map[string][]string{"text and a tree": {"--text", "x", "--root", "y"}, "hosts and a tree": {"--root", "x", "--hosts", "a"}, "hosts and a recording": {"--raw", "x", "--hosts", "a"}} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.collectCommand, args...); err == nil {
				t.Errorf("%q is accepted", args)
			}
		})
	}
}

func TestDiffOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.diffCommand, "good.json", "facts:host7", "--identities")
	if err != nil || o != (diffOptions{left: "good.json", right: "facts:host7", identities: true}) {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parsed(t, a.diffCommand, "good.json"); err == nil {
		t.Error("one snapshot is accepted")
	}
}

func TestReportOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.reportCommand, "runs/1")
	if err != nil || o != (reportOptions{folder: "runs/1"}) {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parsed(t, a.reportCommand); err == nil {
		t.Error("no folder is accepted")
	}
}
