package nic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// driverMellanox is the Ethernet driver of ConnectX-4 and newer.
const driverMellanox = "mlx5_core"

const mlnxQoSProgram = "mlnx_qos"

// mlnxQoS reads mlnx_qos -i eth1, of NVIDIA's OFED and DOCA (mlnx-tools, python/mlnx_qos).
func mlnxQoS() Reader {
	return Reader{
		Name: mlnxQoSProgram,
		Runs: func(n fabric.NIC) []Run {
			if n.Driver != driverMellanox {
				return nil
			}
			return []Run{{Argv: []string{mlnxQoSProgram, "-i", n.Name}}}
		},
		Signs:  []string{"DCBX mode: ", "Priority trust state: "},
		Begins: begins("DCBX mode: ", "Priority trust state: "),
		GoesOn: func(line string) bool {
			return begins("DCBX mode: ", "Priority trust state: ", "dscp2prio mapping:", "Receive buffer size", "Cable len:", "PFC configuration:", "tc: ", "default priority:", "\t", "  ")(line)
		},
		Read: readMlnxQoS,
	}
}

func readMlnxQoS(text, device string) ([]Reading, error) {
	var out []Reading
	for _, c := range commands(text, mlnxQoSProgram) {
		if c.program() != "" && c.program() != mlnxQoSProgram {
			continue
		}
		q, err := mlnxQoSBlock(c.lines)
		if err != nil {
			return nil, err
		}
		if isEmpty(q) {
			continue
		}
		name, err := c.aboutInterface(device, "-i", "--interface")
		if err != nil {
			return nil, err
		}
		out = append(out, Reading{Interface: name, QoS: q})
	}
	if len(out) == 0 {
		return nil, errForeign
	}
	return out, nil
}

var (
	mlnxDSCP  = pattern.Plain(`^\s+prio:([0-9]+) dscp:([0-9,]*)\s*$`)
	mlnxClass = pattern.Plain(`^tc: ([0-9]+) ratelimit: .*, tsa: ([a-z_-]+)(?:, bw: ([0-9]+)%)?\s*$`)
	mlnxOf    = pattern.Plain(`^\s+priority:\s+([0-9]+)\s*$`)
)

// mlnxQoSBlock reads what the tool prints of one interface. Traffic classes and priorities are two numbers: the classes are
// printed first, with the priorities in each below it.
func mlnxQoSBlock(lines []string) (q fabric.QoS, err error) {
	var s schedulers
	var queues []string
	class, trusted := -1, 0
	for i, line := range lines {
		key, value, _ := keyValue(line)
		switch {
		case key == "Priority trust state":
			if trusted++; trusted > 1 {
				return q, errors.New("holds several interfaces and the command of one: the command is to stand before each")
			}
			if q.Trust, err = trustWord(value); err != nil {
				return q, err
			}
		case key == "DCBX mode":
			q.DCBX = mlnxDCBX(value)
		case key == "PFC configuration":
			q.PFC, err = mlnxPFC(lines[i+1:])
		case mlnxDSCP().MatchString(line):
			err = mlnxDSCPLine(&q, mlnxDSCP().FindStringSubmatch(line))
		case mlnxClass().MatchString(line):
			class, err = mlnxClassLine(&s, mlnxClass().FindStringSubmatch(line))
		case mlnxOf().MatchString(line) && class >= 0:
			queues = append(queues, fmt.Sprintf("%s:%d", mlnxOf().FindStringSubmatch(line)[1], class))
		}
		if err != nil {
			return q, err
		}
	}
	if q.Queues, err = queueMap(queues); err != nil {
		return q, fmt.Errorf("priorities of traffic classes: %w", err)
	}
	if len(s) > 0 {
		q.Schedulers = s
	}
	return q, nil
}

func trustWord(text string) (string, error) {
	if text != "dscp" && text != "pcp" {
		return "", fmt.Errorf("trust state %q: unknown; known: dscp, pcp", fabric.Printable(text))
	}
	return text, nil
}

func mlnxDCBX(text string) string {
	switch text {
	case "OS controlled":
		return "host"
	case "Firmware controlled":
		return "firmware"
	}
	return ""
}

func mlnxDSCPLine(q *fabric.QoS, m []string) error {
	priority, err := readNumber(m[1], priorities-1)
	if err != nil {
		return fmt.Errorf("dscp2prio: %w", err)
	}
	for word := range strings.SplitSeq(strings.TrimSuffix(m[2], ","), ",") {
		if word == "" {
			continue
		}
		dscp, err := readNumber(word, maxDSCP)
		if err != nil {
			return fmt.Errorf("dscp2prio: %w", err)
		}
		if err := addDSCP(q, dscp, priority); err != nil {
			return err
		}
	}
	return nil
}

func mlnxClassLine(s *schedulers, m []string) (class int, err error) {
	if class, err = readNumber(m[1], priorities-1); err != nil {
		return 0, fmt.Errorf("tc: %w", err)
	}
	if err := s.algorithm(class, m[2]); err != nil {
		return 0, err
	}
	if m[3] != "" {
		err = s.percent(class, m[3])
	}
	return class, err
}

// mlnxPFC reads two lines: priorities 0 to 7, and 0 or 1 under each.
func mlnxPFC(lines []string) (*[]int, error) {
	if len(lines) < 2 {
		return nil, nil
	}
	head, enabled := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(head) == 0 || len(enabled) == 0 || enabled[0] != "enabled" {
		return nil, nil
	}
	if !slices.Equal(head, []string{"priority", "0", "1", "2", "3", "4", "5", "6", "7"}) || len(enabled) != 1+priorities {
		return nil, errors.New("PFC configuration: want a value for each priority from 0 to 7")
	}
	list := []int{}
	for priority, word := range enabled[1:] {
		switch word {
		case "1":
			list = append(list, priority)
		case "0":
		default:
			return nil, fmt.Errorf("PFC configuration: %q is neither 0 nor 1", fabric.Printable(word))
		}
	}
	return &list, nil
}
