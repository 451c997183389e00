package nic

import (
	"errors"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Broadcom's NIC CLI. Its devices are numbers of its own list (niccli --list_devices, older ones --list or listdev), PCI
// functions, MAC addresses, and in newer ones interfaces. Sources: Broadcom RoCE guide 957608-AN209, 2.2.1.3, 2.2.3 and 2.5; ROCm
// GPU cluster networking, RoCE cluster configuration; niccli of the bcm5760x releases 227 and 234.

const niccliProgram = "niccli"

// driverBroadcom is the Ethernet driver of these NICs.
const driverBroadcom = "bnxt_en"

// niccli reads traffic classes and stored options.
func niccli() Reader {
	return Reader{
		Name: "niccli",
		Runs: func(n fabric.NIC) []Run {
			if n.Driver != driverBroadcom || n.PCI == "" {
				return nil
			}
			out := []Run{{Argv: []string{niccliProgram, "-i", niccliDevice(n.PCI), "qos", "--ets", "--show"}}}
			return append(out, niccliOptionRuns(n)...)
		},
		Signs: append(niccliOptionNames(), tlvHead, "Base Queue is ", "dscp:", "Broadcom", " BCM"),
		Begins: func(line string) bool {
			return strings.HasPrefix(line, tlvHead) && strings.HasSuffix(strings.TrimSpace(line), ":") || strings.HasPrefix(line, "Base Queue is ") ||
				isNiccliItem(line)
		},
		GoesOn: isNiccliLine,
		Read:   readNiccli,
	}
}

// niccliDevice writes a PCI address as the tool's documents do: without the domain where it is 0.
func niccliDevice(pci string) string { return strings.TrimPrefix(pci, "0000:") }

var (
	niccliMapHead = pattern.Plain(`^\s*dscp2prio mapping:\s*$`)
	niccliMapLine = pattern.Plain(`^\s*priority:\s*([0-9]+)\s+dscp:\s*([0-9, ]*)$`)
	niccliQueue   = pattern.Plain(`^\s*([0-9]+)\s+([0-9]+)\s+([0-9]+)\s*$`)
	niccliNewItem = pattern.Plain(`^\s*([0-9]{1,4})\) (Broadcom|BCM)[^:]*$`)
	niccliOldItem = pattern.Plain(`^\s*([0-9]{1,4})\) BCM\S+\s+((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2})\s+\S+\s+([0-9a-fA-F]{2,4}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})[:.]([0-9a-fA-F]{1,2})\b`)
)

// IsHeading reports whether a line stands above what two programs print, and says nothing by itself.
func IsHeading(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "dscp2prio") && niccliMapHead().MatchString(line)
}

func niccliBanner(line string) bool {
	return strings.Contains(line, "NIC CLI v") && strings.Contains(line, "Broadcom")
}

// isNiccliItem knows the lines of its lists, and those of options. What each must have is looked for first: all lines of
// everything that people paste come here.
func isNiccliItem(line string) bool {
	switch {
	case strings.Contains(line, "dscp:"):
		return niccliMapLine().MatchString(line)
	case strings.Contains(line, "Broadcom"), strings.Contains(line, " BCM"):
		return niccliBanner(line) || niccliNewItem().MatchString(line) || niccliOldItem().MatchString(line)
	}
	return strings.Contains(line, "_") && niccliOption(line) != ""
}

func isNiccliLine(line string) bool {
	text := strings.TrimSpace(line)
	return isTLVLine(line) || strings.HasPrefix(text, "Base Queue is ") || strings.Trim(text, "-") == "" || strings.HasPrefix(text, "Priority ") ||
		niccliMapHead().MatchString(line) || niccliQueue().MatchString(line) || isNiccliItem(line)
}

// readNiccli reads any of its listings: devices, traffic classes, priorities of DSCP, queues of priorities, options. A list
// of devices alone is read without error and says nothing.
func readNiccli(text, device string) ([]Reading, error) {
	list, err := niccliList(text)
	if err != nil {
		return nil, err
	}
	var out []Reading
	for _, c := range commands(text, niccliProgram) {
		if c.program() != "" && c.program() != niccliProgram {
			continue
		}
		q, ok, err := niccliQoS(c.lines)
		if err != nil {
			return nil, err
		}
		options := niccliOptions(c.lines)
		if !ok && len(options) == 0 {
			continue
		}
		r, err := list.reading(c, device)
		if err != nil {
			return nil, err
		}
		r.QoS, r.Options = q, options
		out = append(out, r)
	}
	if len(out) == 0 && len(list) == 0 {
		return nil, errForeign
	}
	return out, nil
}

// niccliQoS reads what stands behind one command; ok is false where nothing of it does.
func niccliQoS(lines []string) (q fabric.QoS, ok bool, err error) {
	blocks := 0
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), tlvHead+tlvETS) {
			blocks++
		}
	}
	if blocks > 1 {
		return q, false, errors.New("holds several NICs and the command of one: the command is to stand before each")
	}
	q, whole, err := readTLVs(lines)
	if err != nil {
		return q, false, err
	}
	if len(q.DSCP) > 0 && !whole {
		return q, false, errors.New("is cut behind the applications: want it to the line TC Rate Limit")
	}
	unset := q.PFC != nil && len(*q.PFC) == 0 // nothing follows what no driver has set up (Broadcom RoCE guide 5.1 no. 5)
	tlvs := !isEmpty(q)
	if err := niccliDSCP(&q, lines); err != nil {
		return q, false, err
	}
	queues, err := niccliQueues(lines)
	if err != nil {
		return q, false, err
	}
	if queues != nil {
		q.Queues = queues
	}
	switch {
	case len(q.DSCP) > 0:
		q.Trust = "dscp" // the NIC classifies by DSCP as soon as one has a priority
	case tlvs && (whole || unset):
		q.Trust = "pcp"
	}
	return q, !isEmpty(q), nil
}

// niccliDSCP reads "priority:7  dscp:48,".
func niccliDSCP(q *fabric.QoS, lines []string) error {
	for _, line := range lines {
		m := niccliMapLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		priority, err := readNumber(m[1], priorities-1)
		if err != nil {
			return fmt.Errorf("dscp2prio: %w", err)
		}
		for _, word := range strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			dscp, err := readNumber(word, maxDSCP)
			if err != nil {
				return fmt.Errorf("dscp2prio: %w", err)
			}
			if err := addDSCP(q, dscp, priority); err != nil {
				return err
			}
		}
	}
	return nil
}

// niccliQueues reads the list of priority, traffic class and hardware queue; nil where it is absent or cut.
func niccliQueues(lines []string) ([]int, error) {
	inside, words := false, []string{}
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "Base Queue is ") {
			inside = true
		}
		if m := niccliQueue().FindStringSubmatch(line); inside && m != nil {
			words = append(words, m[1]+":"+m[2])
		}
	}
	if len(words) == 0 {
		return nil, nil
	}
	queues, err := queueMap(words)
	if err != nil {
		return nil, fmt.Errorf("pri2cos: %w", err)
	}
	return queues, nil
}

// niccliDevices are the devices of the tool's list, by its number.
type niccliDevices map[string]Reading

// niccliList reads either form of the list.
func niccliList(text string) (niccliDevices, error) {
	out, index := niccliDevices{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := niccliOldItem().FindStringSubmatch(line); m != nil {
			function, err := readNumber("0x"+m[6], 7)
			if err != nil {
				return nil, fmt.Errorf("device %s: %w", m[1], err)
			}
			out[m[1]] = Reading{PCI: strings.ToLower(fmt.Sprintf("%04s:%s:%s.%d", m[3], m[4], m[5], function))}
			index = ""
			continue
		}
		if m := niccliNewItem().FindStringSubmatch(line); m != nil {
			index = m[1]
			out[index] = Reading{}
			continue
		}
		key, value, ok := keyValue(line)
		if !ok || index == "" {
			continue
		}
		switch key {
		case "Device Interface", "Device Interface Name":
			if isInterface(value) {
				out[index] = Reading{Interface: value}
			}
		case "PCI Address":
			if address, ok := pciFunction(value); ok && out[index].Interface == "" {
				out[index] = Reading{PCI: address}
			}
		}
	}
	return out, nil
}

// reading names the NIC that a command is about.
func (d niccliDevices) reading(c command, device string) (Reading, error) {
	if device != "" {
		return Reading{Interface: device}, nil
	}
	name := c.option("-i", "--dev", "-dev", "-pci", "--pci")
	r, listed := d[name]
	address, isPCI := pciFunction(name)
	switch {
	case name == "":
		return Reading{}, errors.New("the text does not say which NIC it is about: it is to begin with the command (niccli -i NUMBER ...)")
	case listed && (r.Interface != "" || r.PCI != ""):
		return r, nil
	case isPCI:
		return Reading{PCI: address}, nil
	case macAddress().MatchString(name):
		return Reading{MAC: strings.ToLower(name)}, nil
	case strings.Trim(name, "0123456789") == "":
		return Reading{}, fmt.Errorf("device %s is a number of niccli's list, which is not in the text: add the output of niccli --list_devices", name)
	case isInterface(name):
		return Reading{Interface: name}, nil
	}
	return Reading{}, fmt.Errorf("device %q: neither a number, a PCI address, a MAC address nor an interface", fabric.Printable(name))
}
