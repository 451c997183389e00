package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
)

// judgedInText are the rules whose failure a part of a host's facts can show: each judges a value that stands in the text. A
// rule that fails because something is absent, such as a module or a GPU, says nothing of a text that was cut.
func judgedInText() []string {
	return []string{
		"link-up", "rule-shadow", "nic-equal", "provider-abi", "port-state", "sm-lid", "port-lid", "rdma-mtu", "fec",
		"pcie-link", "pcie-port-rate", "pcie-payload", "read-request", "relaxed-ordering", "acs", "iommu-mode", "memlock", "firewall",
		"gpu-answers", "gpu-memory", "gpu-throttle", "nvlink-up", "nvlink-rate", "nvlink-errors", "fabric-manager", "fabric-state",
		"kernel-log-pcie", "kernel-log-aer", "kernel-log-gpu", "kernel-log-nic",
		"nic-pfc", "nic-qos-equal", "mtu-equal", "firmware-equal", "port-rate", "gid-index-equal", "gpu-driver-equal", "gpu-firmware-equal", "kernel-equal",
		"spark-twins", "spark-rate", "spark-mtu", "spark-subnets", "spark-netplan", "spark-dhcp", "spark-pcie", "spark-cma", "spark-hca", "spark-nccl-conf", "spark-cabling", "spark-links",
		"claim-state", "claim-holder", "slice-nic",
	}
}

// failuresIn returns what fails in facts that are parts of what hosts have, and what rules say of them that is open or harmless.
// Hosts that the text names are compared with each other; a second reading and one without a name stand by themselves.
func failuresIn(ctx context.Context, at time.Time, found []facts.TextFacts) ([]fabric.Finding, error) {
	var named []*fabric.Facts
	var groups [][]*fabric.Facts
	for _, f := range found {
		if f.Named && !f.Again {
			named = append(named, f.Facts)
		} else {
			groups = append(groups, []*fabric.Facts{f.Facts})
		}
	}
	if len(named) > 0 {
		groups = append([][]*fabric.Facts{named}, groups...)
	}
	judged := append(judgedInText(), judgedOfESX()...)
	failures := narrowLinks(found)
	for _, group := range groups {
		_, err := Check(ctx, Checked{At: at}, All(group), func(f fabric.Finding) {
			switch {
			case f.Status == fabric.Fail && slices.Contains(judged, f.ID) && !allOff(group, f):
				failures = append(failures, f)
			case (f.ID == "spark-cable" || remarkOfESX(f)) && f.Status != fabric.Fail && len(f.Evidence) > 0: // which is no fault of the machine
				failures = append(failures, f)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return failures, nil
}

// allOff reports whether a port is off on a host of which all ports are: nothing says then that one is meant to be in use.
func allOff(group []*fabric.Facts, f fabric.Finding) bool {
	if f.ID != "port-state" {
		return false
	}
	for _, node := range group {
		if node.Node != f.Subject.Node {
			continue
		}
		for _, h := range node.HCAs {
			for _, p := range h.Ports {
				if p.PhysState != "Disabled" {
					return false
				}
			}
		}
	}
	return true
}

// uncabledIn are machines of which the text shows that no cable is plugged, each as a result without a fault. remarks are about
// ESX hosts.
func uncabledIn(found []fabric.Finding) (faults, remarks []fabric.Finding, notes []fabric.Explained) {
	for _, f := range found {
		switch {
		case f.Status == fabric.Fail:
			faults = append(faults, f)
			continue
		case remarkOfESX(f):
			remarks = append(remarks, f)
			continue
		}
		notes = append(notes, fabric.Explained{
			File: f.Subject.Node, Kind: fabric.PlainText, Verdict: fabric.VerdictUnknown, Causes: []fabric.Cause{}, Why: f.Why,
			Next: "plug the QSFP cable, wait 10 seconds, and give ibdev2netdev again",
		})
	}
	return faults, remarks, notes
}

// narrowLinks finds devices that run on fewer lanes than they have, where the text does not show the other end of the link:
// the rule pcie-link needs both. Speed is left out: a link that is idle may be slow.
func narrowLinks(found []facts.TextFacts) []fabric.Finding {
	var out []fabric.Finding
	for _, f := range found {
		devices := slices.Clone(f.Links)
		for _, d := range f.Facts.PCI {
			const network, display, accelerator = 0x02, 0x03, 0x12 // base classes (PCI Code and ID Assignment)
			if class := d.Class >> 16; d.Parent == "" && (class == network || class == display || class == accelerator) {
				devices = append(devices, d)
			}
		}
		for _, d := range devices {
			if d.Link == nil || d.Link.Width <= 0 || d.Link.Width >= d.Link.MaxWidth {
				continue
			}
			subject := fabric.PCISubject(f.Facts.Node, d.Address)
			out = append(out, fabric.Finding{
				ID: "pcie-link", Title: "PCIe links run at the speed and width that both ends support", Severity: fabric.SeverityWarning, Status: fabric.Fail,
				Cause: fabric.CausePCIeDowngraded, Subject: subject, Expected: fmt.Sprintf("x%d", d.Link.MaxWidth),
				Evidence: []fabric.Evidence{{Source: "lspci", Value: fmt.Sprintf("LnkSta x%d, LnkCap x%d", d.Link.Width, d.Link.MaxWidth)}},
				Why:      fmt.Sprintf("The link of %s runs on %d of %d lanes; what the slot supports is not in the text.", subject, d.Link.Width, d.Link.MaxWidth),
				Fix:      "lspci -vvv of the port above " + fabric.ShellWord(d.Address) + "; reseat the card or riser, then reboot",
			})
		}
	}
	return out
}

// hardwareIn returns what the outputs of tools say of the machines, as far as they agree: the GPU and its number where
// all of them were listed, the rate and kind of the active ports, and their number likewise.
func hardwareIn(known diagnose.Machines, found []facts.TextFacts) fabric.Hardware {
	var hw fabric.Hardware
	var gpus, gpuCounts, nicCounts, rates, nets, links agreed
	for _, f := range found {
		if f.Matrix != nil {
			gpuCounts.add(f.Matrix.GPUs)
			links.add(f.Matrix.NVLink)
		}
		for _, g := range f.Facts.GPUs {
			gpus.add(gpuID(known, g.Name))
		}
		if n := len(f.Facts.GPUs); n > 0 && (f.Whole["nvidia-smi"] || f.Whole["nvidia-smi -q"]) {
			gpuCounts.add(n)
		}
		rate, ports := fastestPorts(f.Facts)
		if ports == nil {
			continue
		}
		rates.add(rate)
		for _, p := range ports {
			nets.add(map[string]string{"InfiniBand": "ib", "Ethernet": "roce"}[p.LinkLayer])
		}
		if f.Whole["ibstat"] || f.Whole["ibv_devinfo"] || f.Whole["ibstatus"] {
			nicCounts.add(len(ports))
		}
	}
	hw.GPU, _ = gpus.one().(string)
	hw.GPUsPerNode, _ = gpuCounts.one().(int)
	hw.NICsPerNode, _ = nicCounts.one().(int)
	hw.NICGbps, _ = rates.one().(float64)
	hw.Net, _ = nets.one().(string)
	if joined, ok := links.one().(bool); ok && !joined {
		hw.NVLink = &joined // NVLink itself is what a GPU has by default
	}
	return hw
}

// agreed is a value that all of several sources give; where two differ there is none.
type agreed struct{ values []any }

func (a *agreed) add(v any) {
	if v != "" && !slices.Contains(a.values, v) {
		a.values = append(a.values, v)
	}
}

func (a *agreed) one() any {
	if len(a.values) != 1 {
		return nil
	}
	return a.values[0]
}

// fastestPorts returns the active ports at the highest rate of a host: those of the fabric. Ports of management are
// slower.
func fastestPorts(f *fabric.Facts) (rate float64, ports []fabric.Port) {
	for _, h := range f.HCAs {
		for _, p := range h.Ports {
			if p.State != "ACTIVE" || p.RateGbps == nil || *p.RateGbps < rate {
				continue
			}
			if *p.RateGbps > rate {
				rate, ports = *p.RateGbps, nil
			}
			ports = append(ports, p)
		}
	}
	return rate, ports
}

// gpuID is the id of a GPU in the catalog by the name that its driver gives: NVIDIA H100 80GB HBM3. Empty: unknown. A
// card of PCIe is another part than that of the same name on a board.
func gpuID(known diagnose.Machines, name string) string {
	words := slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' }), func(w string) bool {
		return slices.Contains([]string{"nvidia", "amd", "tesla", "instinct"}, w)
	})
	for _, form := range []string{"pcie", "nvl"} {
		if slices.Contains(words, form) {
			return known.GPU(words[0] + "-" + form)
		}
	}
	for n := len(words); n > 0; n-- {
		if id := known.GPU(strings.Join(words[:n], "-")); id != "" {
			return id
		}
	}
	return ""
}

// withSeen adds what tools show to what is stated, where neither that nor a result of the call says it. A machine's name
// says all of it.
func withSeen(stated, seen fabric.Hardware, found []fabric.Result) fabric.Hardware {
	if stated.Machine != "" {
		return stated
	}
	for _, r := range found {
		var own *fabric.Hardware
		switch c := r.Content.(type) {
		case *fabric.Table:
			own = c.Hardware
			if len(c.Devices) > 0 {
				seen.GPU = "" // the banner names it
			}
		case *fabric.Observations:
			own = &c.Hardware
		}
		if own != nil && (own.Machine != "" || own.GPU != "" || own.NICsPerNode != 0 || own.NICGbps != 0) {
			return stated
		}
	}
	return seen.With(stated)
}

// slowestPort is the least of the rates at which the fastest ports of each host run, Gb/s; 0: none was seen.
func slowestPort(found []facts.TextFacts) float64 {
	slowest := 0.0
	for _, f := range found {
		if rate, _ := fastestPorts(f.Facts); rate > 0 && (slowest == 0 || rate < slowest) {
			slowest = rate
		}
	}
	return slowest
}

// unreadIn are the outputs of tools that were recognized and could not be read, each as a result that nobody judged.
func unreadIn(found []facts.TextFacts) []fabric.Explained {
	var out []fabric.Explained
	for _, f := range found {
		for _, m := range f.Unread {
			out = append(out, fabric.Explained{
				File: f.Facts.Node, Kind: fabric.PlainText, Verdict: fabric.VerdictUnknown, Causes: []fabric.Cause{},
				Why:  "the output of " + m.Source + " could not be read whole: " + m.Reason,
				Next: "give the whole output of " + m.Source + ", in the C locale",
			})
		}
	}
	return out
}
