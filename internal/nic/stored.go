package nic

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Stored is a stored option as a rule needs it.
type Stored struct {
	Option string
	Value  string // as the tool writes it; empty: not read
	On     *bool  // nil: not read, or a word that is unknown

	pci  string
	want int // what RoCE needs: 0 or 1
	tool tool
}

// tool writes the commands of a program that reads and sets stored options.
type tool struct {
	read func(pci, option string) string
	set  func(pci, option string, want int) string
}

// Read is the command that reads the option.
func (s Stored) Read() string { return s.tool.read(s.pci, s.Option) }

// Set is the command that sets it as RoCE needs it.
func (s Stored) Set() string { return s.tool.set(s.pci, s.Option, s.want) }

// Profile lists the options without which RoCE with GPUs does not run, or runs slowly. All of them are to be on. It is empty
// for NICs of which no such option is documented in public.
func Profile(n fabric.NIC) []Stored {
	if n.Driver != driverBroadcom {
		return nil
	}
	return stored(n, tool{niccliRead, niccliSet}, 1, OptionRDMA, OptionProfile, OptionRelaxedOrdering)
}

// FirmwareDCBX lists the options by which the firmware negotiates traffic classes with the switch, and takes them from the
// host. All of them are to be off. It is empty for NICs of which no such option is documented in public.
func FirmwareDCBX(n fabric.NIC) []Stored {
	switch n.Driver {
	case driverBroadcom:
		return stored(n, tool{niccliRead, niccliSet}, 0, OptionDCBX, OptionLLDPNearest, OptionLLDPNonTPMR)
	case driverMellanox:
		names := []string{OptionLLDPDCBX, OptionLLDPRx, OptionLLDPTx}
		if secondPort(n) {
			names = []string{OptionLLDPDCBX2, OptionLLDPRx2, OptionLLDPTx2}
		}
		return stored(n, tool{mlxconfigRead, mlxconfigSet}, 0, names...)
	}
	return nil
}

func stored(n fabric.NIC, by tool, want int, names ...string) []Stored {
	out := make([]Stored, len(names))
	for i, name := range names {
		value := n.Options[name]
		out[i] = Stored{Option: name, Value: value, On: isOn(value), pci: n.PCI, want: want, tool: by}
	}
	return out
}

func mlxconfigRead(pci, option string) string {
	return "mlxconfig -d " + pci + " -e query " + option
}

func mlxconfigSet(pci, option string, want int) string {
	return "mlxconfig -d " + pci + " set " + option + "=" + strconv.Itoa(want)
}

func niccliRead(pci, option string) string {
	return niccliProgram + " -i " + niccliDevice(pci) + " nvm --getoption " + option + niccliScope(pci, option)
}

func niccliSet(pci, option string, want int) string {
	return niccliProgram + " -i " + niccliDevice(pci) + " nvm --setoption " + option + niccliScope(pci, option) + " --value " + strconv.Itoa(want)
}

// niccliScope names the PCI function, for an option that each function has for itself.
func niccliScope(pci, option string) string {
	if pci == "" || !niccliByFunction(option) {
		return ""
	}
	return " --scope " + pci[len(pci)-1:]
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
