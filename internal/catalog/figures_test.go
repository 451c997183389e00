package catalog

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestGPUByShortName(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"h100": "h100-sxm", "H100": "h100-sxm", " h200 ": "h200-sxm", "a100": "a100-80-sxm", "b200": "b200", "gb10": "gb10",
		"v100-16gb": "v100-sxm2-16", "v100-32gb": "v100-sxm2", "v100-pcie-16gb": "v100-pcie-16", "a100-40gb": "a100-40-sxm",
		"a100-pcie-40gb": "a100-pcie-40", "gh200-144gb": "gh200-144", "h100-nvl": "h100-nvl", // never a bigger card of the name
		"mi250x": "mi250x-gcd", "mi300x": "mi300x", "rtx-pro-6000": "rtx-pro-6000-server",
	} {
		if id, m, err := c.GPU(name); err != nil || id != want || m.Title == "" {
			t.Errorf("%q: got %q, %v; want %q", name, id, err, want)
		}
	}
	if _, _, err := c.GPU("h900"); err == nil || !strings.Contains(err.Error(), `did you mean "h800", "h100" or "h200"? railwright catalog gpus lists all`) {
		t.Errorf("h900: %v", err)
	}
}

func TestMeasuredFiguresAreChecked(t *testing.T) {
	refuse(t, "gpu/g.yaml", []broken{
		{"pcie: {speed", "ring: {value: 318, unit: GB/s, source: s}\npcie: {speed", ""},
		{"pcie: {speed", "ring: {value: 449, unit: GB/s, source: s}\npcie: {speed", "ring.value: 449 is above the 448 of scale_up"},
		{"pcie: {speed", "multicast: {value: 500, unit: GB/s, source: s}\npcie: {speed", "multicast.value: 500 is above the 448 of scale_up"},
		{"pcie: {speed", "ring: {value: 318, unit: Gb/s, source: s}\npcie: {speed", `ring.unit: "Gb/s": unknown`},
		{"pcie: {speed", "aliases: [g1]\npcie: {speed", ""},
		{"pcie: {speed", "aliases: [G 1]\npcie: {speed", "aliases: "},
		{"pcie: {speed", "aliases: [g]\npcie: {speed", `aliases: "g" is the id of a GPU`},
	})
	refuse(t, "nic/n.yaml", []broken{
		{"pcie: {speed", "payload: {value: 0.9, unit: ratio, source: s}\npcie: {speed", ""},
		{"pcie: {speed", "payload: {value: 1.1, unit: ratio, source: s}\npcie: {speed", "payload.value: 1.1 is above 1"},
	})
	refuse(t, "machine/m.yaml", []broken{
		{"nic_names:", "nic_links: {value: 4, unit: link, source: s}\nnic_names:", ""},
		{"nic_names:", "nic_links: {value: 8, unit: link, source: s}\nnic_names:", "nic_links.value: 8 is not below the 8 NICs"},
	})
}

func TestAliasOfTwoGPUs(t *testing.T) {
	files := whole()
	text := string(files["gpu/g.yaml"].Data) + "aliases: [both]\n"
	files["gpu/g.yaml"] = &fstest.MapFile{Data: []byte(text)}
	files["gpu/h.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(text, "1002:74a1", "1002:74a2", 1))}
	if _, err := read(files); err == nil || !strings.Contains(err.Error(), `aliases: "both" is also that of g`) {
		t.Errorf("got %v", err)
	}
}
