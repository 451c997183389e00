package nic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

const nicctlProgram = "nicctl"

// driverPensando is the Ethernet driver of AMD Pensando NICs.
const driverPensando = "ionic"

// nicctl reads nicctl show qos and nicctl show dcqcn of AMD Pensando NICs (Pollara 400): ROCm, distributed inference with
// Pollara; the unit tests of AMD's node-scraper. It names the card by its first PCI function, above the NIC's own.
func nicctl() Reader {
	return Reader{
		Name: nicctlProgram,
		Runs: func(n fabric.NIC) []Run {
			if n.Driver != driverPensando {
				return nil
			}
			return []Run{{Argv: []string{nicctlProgram, "show", "qos"}, Once: true}, {Argv: []string{nicctlProgram, "show", "dcqcn"}, Once: true}}
		},
		Signs:  []string{"NIC "},
		Begins: isNicctlHead,
		GoesOn: func(line string) bool {
			return isNicctlHead(line) || strings.Trim(line, "-") == "" || begins("  ", "\t", "Port :", "Port  :", "Lif id ", "ROCE device ")(line)
		},
		Read: readNicctl,
	}
}

var (
	nicctlHead   = pattern.Plain(`^\s*NIC\s+: +\S+\s+\(([0-9a-fA-F:.]+)\)\s*$`)
	nicctlBitmap = pattern.Plain(`^\s*DSCP bitmap\s+: (0x[0-9a-fA-F]{1,16}) ==> priority : ([0-9]+)\s*$`)
	nicctlDSCP   = pattern.Plain(`^\s*DSCP\s+: ([0-9, -]+) ==> priority : ([0-9]+)\s*$`)
	nicctlClass  = pattern.Plain(`^\s*([0-9]+)\s+(DWRR|dwrr|strict|STRICT)\s+(\S+)\s+(\S+)\s*$`)
)

func isNicctlHead(line string) bool {
	return strings.Contains(line, "NIC ") && nicctlHead().MatchString(line)
}

func readNicctl(text, _ string) ([]Reading, error) {
	var out []Reading
	var block []string
	end := func() error {
		if len(out) == 0 {
			return nil
		}
		return out[len(out)-1].nicctlBlock(block)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := nicctlHead().FindStringSubmatch(line)
		if m == nil {
			block = append(block, line)
			continue
		}
		if err := end(); err != nil {
			return nil, err
		}
		address, ok := pciFunction(m[1])
		if !ok {
			return nil, fmt.Errorf("card %q: not a PCI address", fabric.Printable(m[1]))
		}
		out, block = append(out, Reading{Card: address}), nil
	}
	if err := end(); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errForeign
	}
	return out, nil
}

// nicctlBlock reads what is printed of one card.
func (r *Reading) nicctlBlock(lines []string) error {
	q, bitmap, cnp := &r.QoS, -1, ""
	bits := map[int]int{}
	var classes []string
	for _, line := range lines {
		key, value, _ := keyValue(line)
		var err error
		switch {
		case key == "Classification type":
			if q.Trust, err = trustWord(strings.ToLower(value)); err != nil {
				return err
			}
		case nicctlBitmap().MatchString(line):
			err = nicctlBits(bits, nicctlBitmap().FindStringSubmatch(line))
		case nicctlDSCP().MatchString(line):
			err = nicctlRanges(q, nicctlDSCP().FindStringSubmatch(line))
		case key == "PFC priority bitmap":
			bitmap, err = readNumber(value, 1<<priorities-1)
		case key == "PFC no-drop priorities":
			q.PFC, err = nicctlList(value)
		case key == "Status":
			q.ECN = allOrNone(value == "Enabled")
		case key == "DSCP value used for CNP":
			cnp = value
		case key == "ROCE device" && rdmaDevice().MatchString(value):
			r.RDMA, r.Card = value, "" // closer to the NIC than the card
		case nicctlClass().MatchString(line):
			classes = append(classes, line)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", fabric.Printable(key), err)
		}
	}
	if cnp != "" {
		dscp, err := readNumber(cnp, maxDSCP)
		if err != nil {
			return fmt.Errorf("DSCP value used for CNP: %w", err)
		}
		q.CNP = &fabric.Marking{DSCP: &dscp}
	}
	if err := nicctlAgree(*q, bitmap, bits); err != nil {
		return err
	}
	return nicctlSchedulers(q, classes)
}

// nicctlAgree compares what is printed twice, as a bitmap and as a list.
func nicctlAgree(q fabric.QoS, bitmap int, bits map[int]int) error {
	if bitmap >= 0 && q.PFC != nil {
		set := 0
		for _, p := range *q.PFC {
			set |= 1 << p
		}
		if set != bitmap {
			return fmt.Errorf("contradicts itself: the bitmap of PFC priorities is %#x, the list of no-drop priorities is %v", bitmap, *q.PFC)
		}
	}
	for dscp, priority := range bits {
		if have, ok := q.DSCP[dscp]; ok && have != priority {
			return fmt.Errorf("contradicts itself: DSCP %d has priority %d in the bitmap and %d in the list", dscp, priority, have)
		}
	}
	return nil
}

func nicctlBits(bits map[int]int, m []string) error {
	priority, err := readNumber(m[2], priorities-1)
	if err != nil {
		return err
	}
	var mask uint64
	if _, err := fmt.Sscanf(m[1], "0x%x", &mask); err != nil {
		return errors.New("not a bitmap")
	}
	for dscp := range maxDSCP + 1 {
		if mask&(1<<dscp) != 0 {
			bits[dscp] = priority
		}
	}
	return nil
}

// nicctlRanges reads "0-23, 25-45, 47-63".
func nicctlRanges(q *fabric.QoS, m []string) error {
	priority, err := readNumber(m[2], priorities-1)
	if err != nil {
		return err
	}
	for word := range strings.SplitSeq(m[1], ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(word), "-")
		if !isRange {
			high = low
		}
		from, err := readNumber(low, maxDSCP)
		if err != nil {
			return err
		}
		to, err := readNumber(high, maxDSCP)
		if err != nil {
			return err
		}
		for dscp := from; dscp <= to; dscp++ {
			if err := addDSCP(q, dscp, priority); err != nil {
				return err
			}
		}
	}
	return nil
}

// nicctlList reads "0,3"; nothing behind the colon is none.
func nicctlList(text string) (*[]int, error) {
	if text == "" {
		return &[]int{}, nil
	}
	return priorityList(text)
}

// nicctlSchedulers reads the table by priority. Each priority in use has a queue of its own number here; where one that DSCP
// values are mapped to is not in the table, the table is cut.
func nicctlSchedulers(q *fabric.QoS, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	var s schedulers
	listed := []int{}
	for _, line := range lines {
		m := nicctlClass().FindStringSubmatch(line)
		class, err := readNumber(m[1], priorities-1)
		if err != nil {
			return err
		}
		if slices.Contains(listed, class) {
			return fmt.Errorf("scheduling: priority %d is there twice", class)
		}
		listed = append(listed, class)
		if strings.EqualFold(m[2], "strict") {
			s.at(class).Algorithm = "strict"
			continue
		}
		s.at(class).Algorithm = "ets"
		if err := s.percent(class, m[3]); err != nil {
			return fmt.Errorf("scheduling: %w", err)
		}
	}
	q.Schedulers = s
	for _, p := range q.DSCP {
		if !slices.Contains(listed, p) {
			return nil
		}
	}
	if len(q.DSCP) == 0 {
		return nil
	}
	q.Queues = make([]int, priorities)
	for _, p := range listed {
		q.Queues[p] = p
	}
	return nil
}
