package esxcheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about what ESX itself has: the NICs that it drives, drivers that somebody looked for, memory that it mapped.

func uplinksRule() Rule {
	return Rule{
		ID: "esx-uplinks", Title: "The NICs of the fabric that ESX drives have a link",
		Doc:      "reads link and MTU of the NICs that nmlx5_core drives: with virtual functions each planned NIC has to be up. Without a plan a port without a link is said and is no fault: it may not be cabled on purpose",
		Severity: fabric.SeverityError, Cause: fabric.CauseLinkDown, Reference: docVS8 + "; esxcli network nic list", Facts: []string{fabric.FactESXUplinks},
		DependsOn: []string{"esx-nic-driver"},
		Judge:     eachHost(false, judgeUplinks),
	}
}

func judgeUplinks(s scene) []fabric.Finding {
	if s.esx.Uplinks == nil {
		return []fabric.Finding{s.unread("NICs of ESX were not read", fabric.FactESXUplinks)}
	}
	vendor, id := s.wantedNIC()
	var out []fabric.Finding
	var seen []fabric.Evidence
	for _, u := range s.esx.Uplinks {
		d := s.byAddress(u.Address)
		if u.Driver != nicModule || s.goal != nil && d != nil && d.device != 0 && (d.vendor != vendor || d.device != id) {
			continue
		}
		text := saw("esxcli network nic list", uplinkText(u))
		name := u.Name + " (" + u.Address + ") of " + s.name()
		switch {
		case u.Up == nil:
			out = append(out, s.finding(fabric.Unknown, "the link of "+name+" was not read", text))
		case *u.Up:
			seen = append(seen, text)
		case s.mode() == fabric.SRIOVToGuests && s.Plan.Transport == fabric.InfiniBand:
			// The document for vSphere 8 has virtual functions of InfiniBand shown as Down that carry traffic, and says nothing of
			// the port itself.
			out = append(out, s.finding(fabric.Unknown, name+" shows no link to ESX, which may show none of an InfiniBand port that has one: ibstat in a virtual machine decides", text))
		case s.mode() == fabric.SRIOVToGuests:
			out = append(out, s.fail(fault{at: u.Address, why: name + " has no link.", expected: "link up", seen: []fabric.Evidence{text}, cost: "its virtual functions carry no traffic",
				fix: "cable and transceiver; " + s.here("esxcli network nic up -n "+fabric.ShellWord(u.Name))}))
		default:
			out = append(out, s.finding(fabric.Unknown, name+" has no link"+mtuText(u)+": a fault where this port is in use; no plan says so", text))
		}
	}
	switch {
	case len(out) > 0:
		return out
	case len(seen) == 0:
		return []fabric.Finding{s.finding(fabric.NotApplicable, "ESX drives no NIC of the fabric on "+s.name())}
	case s.goal == nil:
		return []fabric.Finding{s.finding(fabric.NotApplicable, "no plan says which ports of "+s.name()+" are in use; those that were listed have a link", seen...)}
	case s.mode() == fabric.SRIOVToGuests && len(seen) < s.goal.NICs:
		return []fabric.Finding{s.finding(fabric.Unknown, fmt.Sprintf("%d of the %d planned NICs of %s were listed, and have a link", len(seen), s.goal.NICs, s.name()), seen...)}
	}
	return s.pass("link up", seen...)
}

func uplinkText(u fabric.Uplink) string {
	text := u.Name + " link not read"
	if u.Up != nil {
		text = u.Name + map[bool]string{true: " Up", false: " Down"}[*u.Up]
	}
	if u.Mbps != nil {
		text += ", " + strconv.Itoa(*u.Mbps) + " Mb/s"
	}
	return text + mtuText(u)
}

func mtuText(u fabric.Uplink) string {
	if u.MTU == 0 {
		return ""
	}
	return ", MTU " + strconv.Itoa(u.MTU)
}

func soughtRule() Rule {
	return Rule{
		ID: "esx-driver-sought", Title: "A driver that somebody looked for is there",
		Doc:      "joins two searches that found nothing: a module that is not loaded (vmkload_mod -l) and of which no package is installed (esxcli software vib list). A device without its driver has no vmnic",
		Severity: fabric.SeverityError, Cause: fabric.CauseESXiDriverUnloaded, Reference: "VMware Compatibility Guide; Broadcom KB on devices without a vmnic", Facts: []string{fabric.FactESXModules, fabric.FactESXVIBs},
		Judge: eachHost(false, judgeSought),
	}
}

func judgeSought(s scene) []fabric.Finding {
	var out []fabric.Finding
	var seen []fabric.Evidence
	for _, m := range s.esx.Modules {
		part := strings.ReplaceAll(strings.ToLower(m.Name), "_", "-")
		gone := slices.ContainsFunc(s.esx.NoVIBs, func(n string) bool { return strings.EqualFold(n, m.Name) || strings.ToLower(n) == part })
		switch {
		case !is(m.Loaded, false) || m.Name == nicModule && s.goal != nil: // esx-nic-driver
		case gone:
			out = append(out, s.fail(fault{why: fmt.Sprintf("Module %s of %s is not loaded, and no package of it is installed.", m.Name, s.name()), expected: m.Name + " installed and loaded",
				seen: []fabric.Evidence{saw("vmkload_mod -l", "no "+m.Name), saw(vibList, "no "+m.Name)}, cost: "the device that needs it has no vmnic, or is not there at all",
				fix: "install the driver of the device for this release of ESX (VMware Compatibility Guide): " + s.here("esxcli software vib install -d /vmfs/volumes/DATASTORE/DRIVER.zip") + ", then restart it"}))
		case len(s.esx.NoVIBs) > 0:
			seen = append(seen, saw("vmkload_mod -l", "no "+m.Name))
		}
	}
	switch {
	case len(out) > 0:
		return out
	case len(seen) > 0:
		return []fabric.Finding{s.finding(fabric.Unknown, "a module that was looked for is not loaded on "+s.name()+"; whether its package is installed was not asked (esxcli software vib list)", seen...)}
	}
	return []fabric.Finding{s.finding(fabric.NotApplicable, "no driver that is absent was asked for")}
}

func mappedRule() Rule {
	return Rule{
		ID: "esx-mapped", Title: "What ESX maps of a device, the guest has too",
		Doc:      "joins vmware.log and lspci of the guest in one text: ESX mapped the memory of a device, and in the guest its region is unassigned. Then the guest's firmware (EFI) and its MMIO space are at fault, not the host",
		Severity: fabric.SeverityError, Cause: fabric.CauseMMIOSpace, Reference: "Dell KB 000199172; " + docVCF + ", 10.1", Facts: []string{fabric.FactPCI},
		Judge: eachHost(false, judgeMapped),
	}
}

// judgeMapped needs regions that lspci shows; they are of a guest, as ESX prints none.
func judgeMapped(s scene) []fabric.Finding {
	if len(s.esx.BARs) == 0 {
		return []fabric.Finding{s.finding(fabric.NotApplicable, "no log of memory that ESX maps for a virtual machine is part of the check")}
	}
	largest := slices.MaxFunc(s.esx.BARs, func(a, b fabric.DeviceBAR) int { return a.Bytes - b.Bytes })
	host := saw("vmware.log", fmt.Sprintf("device %s region %d, %.1f GiB", largest.Device, largest.Number, float64(largest.Bytes)/(1<<30)))
	var out []fabric.Finding
	told := false
	for i := range s.facts.PCI {
		d := &s.facts.PCI[i]
		told = told || d.Regions != nil
		for _, n := range d.Unassigned() {
			out = append(out, s.fail(fault{at: d.Address, why: fmt.Sprintf("ESX mapped the memory of device %s, and in the guest region %d of %s is unassigned: the guest's firmware or MMIO space is at fault, not the host.", largest.Device, n, d.Address),
				expected: "an address for each region in the guest", seen: []fabric.Evidence{host, saw("lspci in the guest", fmt.Sprintf("Region %d: Memory at <unassigned>", n))},
				cost: "the driver in the guest does not take the GPU (BAR1 is 0M)", fix: "virtual machine, powered off: firmware EFI, pciPassthru.use64bitMMIO = TRUE, a larger pciPassthru.64bitMMIOSizeGB"}))
		}
	}
	switch {
	case len(out) > 0:
		return out
	case !told:
		return []fabric.Finding{s.finding(fabric.Unknown, "ESX mapped the memory of device "+largest.Device+" for a virtual machine of "+s.name()+"; whether the guest has it was not read (lspci -vv in the guest)", host)}
	}
	return s.pass("an address for each region in the guest", host, saw("lspci in the guest", "no region is unassigned"))
}
