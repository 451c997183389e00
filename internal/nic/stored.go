package nic

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Stored is a stored option as a rule needs it.
type Stored struct {
	Option string
	Value  string // as the tool writes it; empty: not read
	On     *bool  // nil: not read, or a word that is unknown
	Read   string // the command that reads it
	Set    string // the command that sets it as RoCE needs it
}

// Profile lists the options without which RoCE with GPUs does not run, or runs slowly. All of them are to be on. It is empty
// for NICs of which no such option is documented in public.
func Profile(n fabric.NIC) []Stored {
	if n.Driver != driverBroadcom {
		return nil
	}
	return niccliStored(n, 1, OptionRDMA, OptionProfile, OptionRelaxedOrdering)
}

// FirmwareDCBX lists the options by which the firmware negotiates traffic classes with the switch, and takes them from the
// host. All of them are to be off. It is empty for NICs of which no such option is documented in public.
func FirmwareDCBX(n fabric.NIC) []Stored {
	switch n.Driver {
	case driverBroadcom:
		return niccliStored(n, 0, OptionDCBX, OptionLLDPNearest, OptionLLDPNonTPMR)
	case driverMellanox:
		names := []string{OptionLLDPDCBX, OptionLLDPRx, OptionLLDPTx}
		if secondPort(n) {
			names = []string{OptionLLDPDCBX2, OptionLLDPRx2, OptionLLDPTx2}
		}
		var out []Stored
		for _, name := range names {
			out = append(out, Stored{
				Option: name, Value: n.Options[name], On: isOn(n.Options[name]),
				Read: "mlxconfig -d " + n.PCI + " -e query " + name,
				Set:  "mlxconfig -d " + n.PCI + " set " + name + "=0",
			})
		}
		return out
	}
	return nil
}

func niccliStored(n fabric.NIC, want int, names ...string) []Stored {
	var out []Stored
	for _, name := range names {
		scope := ""
		if niccliByFunction(name) && n.PCI != "" {
			scope = " --scope " + n.PCI[len(n.PCI)-1:]
		}
		of := niccliProgram + " -i " + niccliDevice(n.PCI) + " nvm "
		out = append(out, Stored{
			Option: name, Value: n.Options[name], On: isOn(n.Options[name]),
			Read: of + "--getoption " + name + scope,
			Set:  of + "--setoption " + name + scope + " --value " + string(rune('0'+want)),
		})
	}
	return out
}

// CongestionMask returns the priorities on which a stored option runs DCQCN; nil: the NIC has no such option, or it was not
// read.
func CongestionMask(n fabric.NIC) *[]int {
	name := OptionCCMask
	if secondPort(n) {
		name = OptionCCMask2
	}
	mask, err := readNumber(n.Options[name], 1<<priorities-1)
	if n.Driver != driverMellanox || err != nil {
		return nil
	}
	list := []int{}
	for p := range priorities {
		if mask&(1<<p) != 0 {
			list = append(list, p)
		}
	}
	return &list
}

// secondPort reports whether an interface is of the second port of its card: PCI function 1.
func secondPort(n fabric.NIC) bool { return strings.HasSuffix(n.PCI, ".1") }

// isOn reads what tools write for an option: "True", "Enabled (IEEE only)", "RoCE", "LLDP_DISABLE(0)", "1".
func isOn(value string) *bool {
	text := strings.ToLower(strings.TrimSpace(value))
	if open := strings.LastIndexByte(text, '('); open > 0 && strings.HasSuffix(text, ")") {
		if inner := text[open+1 : len(text)-1]; strings.Trim(inner, "0123456789") == "" {
			text = inner
		} else {
			text = strings.TrimSpace(text[:open])
		}
	}
	switch text {
	case "1", "true", "on", "yes", "enabled", "enable", "roce":
		return new(true)
	case "0", "false", "off", "no", "disabled", "disable", "default", "none":
		return new(false)
	}
	if n, err := readNumber(text, 1<<30); err == nil && text != "" {
		return new(n > 0) // a mode that is not 0 is not off
	}
	return nil
}

// FullMap reports whether a source lists the priority of every DSCP value: one that it leaves out was not read.
func FullMap(source string) bool { return source == mlnxQoSProgram || source == nicctlProgram }

// FileMarking returns what the file of a driver says of the packets of RoCE and CNP; nil where it says nothing.
func FileMarking(settings map[string]string) (roce, cnp *fabric.Marking) {
	value := func(name string, most int) *int {
		n, err := readNumber(settings[name], most)
		if err != nil {
			return nil
		}
		return &n
	}
	return marking(value(SettingRoCEDSCP, maxDSCP), value(SettingRoCEPriority, priorities-1)), marking(value(SettingCNPDSCP, maxDSCP), value(SettingCNPPriority, priorities-1))
}

// SetUpByFile reports whether the driver of a NIC sets it up from BnxtReConf.
func SetUpByFile(n fabric.NIC) bool { return n.Driver == driverBroadcom }
