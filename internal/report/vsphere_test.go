package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// ESX hosts stand on the page with their virtual machines, the worst first, and those of which the same is said in one row.
func TestESXOnPage(t *testing.T) {
	v := &fabric.VSphere{Classes: []fabric.VMClass{{Name: "pair", GPUs: 1, NICs: 1, CPUs: 8, MemoryMB: 2048, MMIOGB: 160, Devices: []fabric.VMClassDevice{{Label: "GPU2"}, {Label: "NIC2"}, {Label: "NVS0"}}}}}
	p := &fabric.Plan{Name: "c", VSphere: v}
	for i := range 1000 {
		vm := fmt.Sprintf("vm%d", i+1)
		v.Hosts = append(v.Hosts, fabric.ESXHost{Name: fmt.Sprintf("esx%d", i+1), Nodes: []string{vm}})
		v.Classes[0].Nodes = append(v.Classes[0].Nodes, vm)
		p.Nodes = append(p.Nodes, fabric.Node{Name: vm, NICs: []string{"ib0"}})
	}
	found := &fabric.Findings{}
	add := func(host string, status fabric.Status, title string) {
		found.Findings = append(found.Findings, fabric.Finding{Status: status, Title: title, Subject: fabric.NodeSubject(host)})
	}
	add("esx1", fabric.Pass, "A")
	add("esx2", fabric.Pass, "A")
	add("esx3", fabric.Unknown, "B is read")
	add("esx4", fabric.Pass, "A")
	add("esx4", fabric.Fail, "<C> is on")
	r := Run{Plan: p, Findings: found}
	rows, more := r.esxRows()
	var text []string
	for _, row := range rows {
		text = append(text, fmt.Sprintf("%s/%d %s %s %s: %s", row.Hosts, row.Count, row.VMs, row.Classes, row.Word, row.Why))
	}
	want := "esx4/1 vm4 pair failed: not so: <C> is on\nesx3/1 vm3 pair unknown: unknown: B is read\nesx[5-1000]/996 vm[5-1000] pair not checked: nothing was read of it\nesx[1-2]/2 vm[1-2] pair passed: 1 check"
	if got := strings.Join(text, "\n"); got != want || more != 0 {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if c := r.classRows()[0]; c.Pairs != "GPU2-NIC2" || c.Devices != "GPU2 NIC2 NVS0" || c.Memory != "2 GiB" || c.Nodes != "vm[1-1000]" {
		t.Errorf("%+v", c)
	}
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if s := page.String(); !strings.Contains(s, "&lt;C&gt; is on") || strings.Contains(s, "<C>") {
		t.Error("the page lacks the failing host, or does not escape")
	}
}
