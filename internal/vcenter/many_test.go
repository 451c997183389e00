package vcenter

import (
	"fmt"
	"slices"
	"testing"
)

// Many hosts are read with one question for each MostDetailed of them; each is what it is alone, and one that is not there is its
// own error.
func TestDetails(t *testing.T) {
	s := newSim(t, 1)
	s.crowd(99)
	c := s.open(t)
	all, err := c.Hosts(t.Context())
	if err != nil || len(all) != 100 {
		t.Fatal(len(all), err)
	}
	names := []string{"nobody"}
	for i := range 99 {
		names = append(names, fmt.Sprintf("esx%04d", i))
	}
	names = append(names, "esx0000") // asked for twice
	before := s.calls.count("RetrievePropertiesEx")
	got := c.Details(t.Context(), all, names)
	if n := s.calls.count("RetrievePropertiesEx") - before; n != 4 {
		t.Errorf("%d questions", n)
	}
	if !Is(got[0].Err, NotFound) || got[0].Name != "nobody" {
		t.Errorf("nobody: %+v", got[0])
	}
	for i, d := range got[1:] {
		if d.Err != nil || d.Name != names[i+1] || d.Host.Name != d.Name || len(d.Host.PCI) != 5 || len(d.Host.ESX.Devices) != 5 || d.Host.ESX.VMs == nil {
			t.Fatalf("%d: %+v", i, d)
		}
	}
	one, err := c.Host(t.Context(), "esx0042")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(names, "esx0042")
	if fmt.Sprintf("%+v", one.PCI) != fmt.Sprintf("%+v", got[i].Host.PCI) || fmt.Sprint(one.Missing) != fmt.Sprint(got[i].Host.Missing) {
		t.Errorf("alone %+v\nand among others %+v", one, got[i].Host)
	}
	s.calls.lock.Lock()
	s.calls.broke = func(method string, _ int) bool { return method == "RetrievePropertiesEx" }
	s.calls.lock.Unlock()
	for _, d := range c.Details(t.Context(), all, names[:3])[1:] {
		if !Is(d.Err, NoAnswer) || d.Host != nil {
			t.Errorf("without an answer: %+v", d)
		}
	}
}
