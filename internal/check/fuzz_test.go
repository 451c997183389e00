package check

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// FuzzKernelLog feeds lines of a kernel's log: a line that blames must be in the evidence, and no text may
// make a finding without its parts.
func FuzzKernelLog(f *testing.F) {
	for _, line := range []string{
		"bnxt_en 0000:33:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at 0000:32:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)",
		"0000:33:00.0 available PCIe bandwidth, limited by ",
		"NVRM: Xid (PCI:0000:34:00): 79, pid=1234, GPU has fallen off the bus.",
		"NVRM: Xid (PCI:", "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 23001, Fatal, Link 12",
		"mlx5_core 0000:33:00.0: poll_health:825: device's health compromised - reached miss count",
		"NETDEV WATCHDOG: eth3 (bnxt_en): transmit queue 5 timed out", ": : Unknown symbol",
		"pcieport 0000:32:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		w := newWorld()
		logged(line)(w)
		findings, _ := run(w.plan, nil, w.nodes...)
		for _, one := range findings {
			checkWhole(t, one)
			if one.Status == fabric.Fail && (len(one.Evidence) == 0 || !strings.Contains(one.Evidence[0].Value, line)) {
				t.Errorf("%q: blamed without it: %+v", line, one)
			}
		}
	})
}

// FuzzPortText feeds what a port says of itself: whatever it is, each rule has a whole verdict.
func FuzzPortText(f *testing.F) {
	f.Add("0000:0000:0000:0000:0000:ffff:0a40:0005", "RoCE v2", "0200:00ff:fe00:0103", "0x8001", "RS")
	f.Add("fe80::1%eth3", "IB/RoCE v1", "0000:0000:0000:0000", "0x7fff", "Off")
	f.Add("", "", "zzzz:00ff:fe00:0103", "-1", "Off RS")
	f.Fuzz(func(t *testing.T, gid, kind, guid, key, fec string) {
		w := newWorld()
		h := &w.host1().HCAs[2]
		h.NodeGUID, eth3(w).FEC = guid, fec
		h.Ports[0].GIDs, h.Ports[0].PKeys = []fabric.GID{{Index: 3, GID: gid, Type: kind}}, []string{key}
		for _, layer := range []string{"Ethernet", "InfiniBand"} {
			h.Ports[0].LinkLayer = layer
			findings, _ := run(nil, nil, w.nodes...)
			for _, one := range findings {
				checkWhole(t, one)
			}
		}
	})
}
