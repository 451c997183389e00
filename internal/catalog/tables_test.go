package catalog

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// table is what the tests read of a measured table of a collective.
type table struct {
	Collective string
	Hardware   struct {
		GPU      string
		Nodes    int
		GPUs     float64 `json:"gpus_per_node"`
		NICs     float64 `json:"nics_per_node"`
		LineRate float64 `json:"nic_gbps"`
		Net      string
	} `json:"hw"`
	Health string
	Rows   []struct {
		BusBandwidth *float64 `json:"busbw"`
	}
}

// tables reads the measured tables, by the number that begins their names.
func tables(t *testing.T) map[string]table {
	t.Helper()
	files, err := filepath.Glob("../../../shared/data/collectives/P*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no measured tables beside the repository")
	}
	all := map[string]table{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var one table
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatalf("%q: %v", file, err)
		}
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		all[number] = one
	}
	return all
}

// setting is where a table was measured.
type setting struct {
	machine string
	nics    float64 // that took part; 0: all
}

// measuredOn says where each table was measured.
func measuredOn() map[string]setting {
	return map[string]setting{
		"P01": {machine: "hgx-h100"}, "P02": {machine: "hgx-h100"}, "P11": {machine: "hgx-h100"}, "P12": {machine: "hgx-h100"},
		"P13": {machine: "hgx-h100"}, "P14": {machine: "hgx-h100"}, "P15": {machine: "hgx-h100"}, "P26": {machine: "hgx-h100"},
		"P33": {machine: "hgx-h100"},
		"P03": {machine: "a4-highgpu-8g"}, "P18": {machine: "a4-highgpu-8g"},
		"P04": {machine: "xe9680-mi300x-thor2"}, "P05": {machine: "xe9680-mi300x-thor2"}, "P06": {machine: "xe9680-mi300x-thor2"},
		"P07": {machine: "xe9680-mi300x-thor2"}, "P08": {machine: "xe9680-mi300x-thor2"}, "P20": {machine: "xe9680-mi300x-thor2"},
		"P16": {machine: "hgx-a100"},
		"P17": {machine: "hgx-h200"},
		"P22": {machine: "p4de-24xlarge"},
		"P23": {machine: "p5-48xlarge"}, "P24": {machine: "p5-48xlarge"},
		"P25": {machine: "hgx-b200"},
		"P27": {machine: "a3-megagpu-8g"},
		"P28": {machine: "a3-highgpu-8g"},
		"P31": {machine: "mi250x-ss11"},
		"P32": {machine: "dgx-spark", nics: 2}, // one cable: the two twins of a port
	}
}

// unmatched are tables of machines that are no kind of machine.
func unmatched() map[string]string {
	return map[string]string{
		"P29": "a node of RTX 6000D, a GPU that the catalog does not have",
		"P40": "a virtual machine with two H200 and no NIC", "P41": "a virtual machine with two H200 and no NIC",
	}
}

func TestMachinesAreThoseOfTheTables(t *testing.T) {
	c := embedded(t)
	for number, measured := range tables(t) {
		on, ok := measuredOn()[number]
		if _, known := unmatched()[number]; known != !ok {
			t.Errorf("%s: wants either a machine or why it has none", number)
		}
		if !ok {
			continue
		}
		m, err := c.Machine(on.machine)
		if err != nil {
			t.Errorf("%s: %v", number, err)
			continue
		}
		if m.GPUs.Value != measured.Hardware.GPUs {
			t.Errorf("%s on %s: %v GPUs, the table has %v", number, on.machine, m.GPUs.Value, measured.Hardware.GPUs)
		}
		if !strings.HasPrefix(m.GPU, measured.Hardware.GPU) {
			t.Errorf("%s on %s: GPU %s, the table has %s", number, on.machine, m.GPU, measured.Hardware.GPU)
		}
		if number == "P16" {
			continue // one node: its source names no NICs, and an A100 machine has none of the table's 400 Gb/s
		}
		rate := c.LineRate(m)
		if on.nics > 0 {
			rate *= on.nics / m.NICs.Value
		}
		if want := measured.Hardware.NICs * measured.Hardware.LineRate; rate != want {
			t.Errorf("%s on %s: %v Gb/s of NICs, the table has %v", number, on.machine, rate, want)
		}
		if !slices.Contains(m.Fabrics, measured.Hardware.Net) {
			t.Errorf("%s on %s: fabrics %v, the table has %s", number, on.machine, m.Fabrics, measured.Hardware.Net)
		}
	}
}

// A fabric's payload is the best that a table of a ring shows of it.
func TestPayloadIsMeasured(t *testing.T) {
	c := embedded(t)
	all := tables(t)
	for fabric, number := range map[string]string{"ib": "P33", "roce": "P18", "tcpxo": "P27", "tcpx": "P28", "ss11": "P31"} {
		measured, ok := all[number]
		if !ok || measured.Health != "healthy" {
			t.Errorf("%s: no healthy table %s", fabric, number)
			continue
		}
		best := 0.0
		for _, row := range measured.Rows {
			if row.BusBandwidth != nil {
				best = max(best, *row.BusBandwidth)
			}
		}
		line := measured.Hardware.NICs * measured.Hardware.LineRate / 8 // GB/s
		if got := c.Fabrics[fabric].Payload.Value; math.Abs(best/line-got) > 0.0005 {
			t.Errorf("%s: payload %v, %s has %.1f of %v GB/s, %.4f", fabric, got, number, best, line, best/line)
		}
	}
}
