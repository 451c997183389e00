package nic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Options of NVIDIA's NICs. P1 is the first port of the card, which PCI function 0 is of, P2 the second.
const (
	OptionATS           = "ATS_ENABLED"          // True(1): address translation by the NIC, for virtual machines
	OptionCCMask        = "ROCE_CC_PRIO_MASK_P1" // bit by priority on which DCQCN runs
	OptionLinkType      = "LINK_TYPE_P1"         // IB(1), ETH(2), VPI(3)
	OptionWriteOrdering = "PCI_WR_ORDERING"      // per_mkey(0), force_relax(1)
	OptionLLDPDCBX      = "LLDP_NB_DCBX_P1"      // the firmware negotiates DCBX
	OptionLLDPRx        = "LLDP_NB_RX_MODE_P1"   // the firmware takes LLDP frames
	OptionLLDPTx        = "LLDP_NB_TX_MODE_P1"   // the firmware sends them
	OptionLLDPDCBX2     = "LLDP_NB_DCBX_P2"
	OptionLLDPRx2       = "LLDP_NB_RX_MODE_P2"
	OptionLLDPTx2       = "LLDP_NB_TX_MODE_P2"
	OptionCCMask2       = "ROCE_CC_PRIO_MASK_P2"
	OptionSRIOV         = "SRIOV_EN"
	OptionVFs           = "NUM_OF_VFS"
)

func mlxconfigOptions() []string {
	return []string{OptionATS, OptionCCMask, OptionLinkType, OptionWriteOrdering, OptionLLDPDCBX, OptionLLDPRx, OptionLLDPTx,
		OptionLLDPDCBX2, OptionLLDPRx2, OptionLLDPTx2, OptionCCMask2, OptionSRIOV, OptionVFs}
}

// mlxconfig reads mlxconfig -d 0000:18:00.0 -e query. Its heads differ: one column for the next boot, or default, current and
// next boot with -e; older ones call a single column current.
func mlxconfig() Reader {
	return Reader{
		Name:    "mlxconfig",
		Options: true,
		Runs: func(n fabric.NIC) []Run {
			if n.Driver != driverMellanox || n.PCI == "" {
				return nil
			}
			return []Run{{Argv: []string{"mlxconfig", "-d", n.PCI, "-e", "query"}, Option: OptionCCMask}}
		},
		Signs:  []string{"Device #"},
		Begins: begins("Device #"),
		GoesOn: func(line string) bool {
			return strings.Trim(line, "-") == "" || begins("Device", "PCI device:", "Name:", "Description:", "Configurations:", "The '*'", "*", "  ", "\t")(line) || mlxOption().MatchString(line)
		},
		Read: readMlxconfig,
	}
}

var (
	mlxHead   = pattern.Plain(`^Configurations:\s*(.*?)\s*$`)
	mlxDevice = pattern.Plain(`^(?:Device|PCI [Dd]evice):\s*(\S+)\s*$`)
	mlxOption = pattern.Plain(`^[\s*]*([A-Z][A-Z0-9_]{2,60})\s+(\S.*?)\s*$`)
)

func readMlxconfig(text, device string) ([]Reading, error) {
	var out []Reading
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Device #") {
			out = append(out, Reading{})
		}
	}
	if len(out) == 0 {
		return nil, errForeign
	}
	at, column, columns := -1, 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch m := mlxHead().FindStringSubmatch(line); {
		case strings.HasPrefix(line, "Device #"):
			at, columns = at+1, 0
		case at < 0:
		case m != nil:
			var err error
			if column, columns, err = mlxColumns(m[1]); err != nil {
				return nil, err
			}
		case mlxDevice().MatchString(line):
			out[at].name(mlxDevice().FindStringSubmatch(line)[1])
		case columns > 0:
			if err := out[at].mlxLine(line, column, columns); err != nil {
				return nil, err
			}
		}
	}
	return mlxNamed(out, device)
}

// mlxColumns returns the column whose values are in effect: the current one, else the only one.
func mlxColumns(heads string) (column, columns int, err error) {
	words := strings.Join(strings.Fields(heads), " ")
	switch words {
	case "Default Current Next Boot":
		return 1, 3, nil
	case "Current Next Boot":
		return 0, 2, nil
	case "Current", "Next Boot", "Next boot", "":
		return 0, 1, nil
	}
	if strings.HasSuffix(words, " New") {
		return 0, 0, errors.New("is a change that was asked for, not a query: want mlxconfig -d PCI -e query")
	}
	return 0, 0, fmt.Errorf("columns %q: unknown; known: Default Current Next Boot, Current, Next Boot", fabric.Printable(words))
}

func (r *Reading) mlxLine(line string, column, columns int) error {
	m := mlxOption().FindStringSubmatch(line)
	if m == nil || !slices.Contains(mlxconfigOptions(), m[1]) {
		return nil
	}
	values := strings.Fields(m[2])
	if len(values) != columns {
		return fmt.Errorf("%s has %d values under %d columns", m[1], len(values), columns)
	}
	if r.Options == nil {
		r.Options = map[string]string{}
	}
	r.Options[m[1]] = fabric.Printable(values[column])
	return nil
}

// name takes a PCI address, in the forms that the tool has for it; another device has no name that the kernel knows.
func (r *Reading) name(device string) {
	if address, ok := pciFunction(strings.TrimSuffix(device[strings.LastIndexByte(device, '/')+1:], ".")); ok {
		r.PCI = address
	}
}

func mlxNamed(readings []Reading, device string) ([]Reading, error) {
	var out []Reading
	for _, r := range readings {
		if len(r.Options) == 0 {
			continue
		}
		switch {
		case device != "" && len(readings) == 1:
			r.PCI, r.Interface = "", device
		case r.PCI == "":
			return nil, errors.New("names its device as the firmware tools do, which no interface shows: want mlxconfig -d PCI -e query, with the PCI address (lspci -D)")
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, errors.New("has none of the options that matter here: " + strings.Join(mlxconfigOptions(), ", "))
	}
	return out, nil
}
