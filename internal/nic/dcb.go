package nic

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const dcbProgram = "dcb"

// dcb reads dcb pfc, ets, app, apptrust and dcbx show dev eth1 (iproute2, dcb/dcb_*.c). Nothing is printed where a table is
// empty, so that only the command says that it was asked for.
func dcb() Reader {
	return Reader{
		Name: dcbProgram,
		Runs: func(n fabric.NIC) []Run {
			var out []Run
			for _, object := range []string{"pfc", "ets", "app", "dcbx"} {
				out = append(out, Run{Argv: []string{dcbProgram, object, "show", "dev", n.Name}})
			}
			return out
		},
		Signs:  []string{"pfc-cap ", "prio-pfc ", "willing ", "ets-cap ", "tc-bw ", "pg-bw ", "tc-tsa ", "prio-tc ", "reco-", "-prio ", "host ", "lld-managed "},
		Begins: isDCBLine,
		GoesOn: isDCBLine,
		Read:   readDCB,
	}
}

// isDCBLine knows the lines that no other program prints.
func isDCBLine(line string) bool {
	return begins("pfc-cap ", "prio-pfc ", "willing on ", "willing off ", "ets-cap ", "tc-bw ", "pg-bw ", "tc-tsa ", "prio-tc ", "reco-", "dscp-prio ", "dgram-port-prio ", "stream-port-prio ",
		"port-prio ", "ethtype-prio ", "default-prio ", "pcp-prio ")(line) || isDCBX(line)
}

// isDCBX knows the flags of dcb dcbx show, which are all that it prints.
func isDCBX(line string) bool {
	if !begins("host ", "lld-managed ")(line) {
		return false
	}
	for word := range strings.FieldsSeq(line) {
		if !slices.Contains([]string{"host", "lld-managed", "cee", "ieee", "static"}, word) {
			return false
		}
	}
	return true
}

func readDCB(text, device string) ([]Reading, error) {
	var out []Reading
	calls := commands(text, dcbProgram)
	for i, c := range calls {
		if c.program() != "" && c.program() != dcbProgram {
			continue
		}
		q, err := dcbBlock(c, device != "" || i < len(calls)-1)
		if err != nil {
			return nil, err
		}
		if isEmpty(q) {
			continue
		}
		name, err := c.aboutInterface(device, "dev")
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

// dcbBlock reads what a command printed; whole says that nothing of it can be cut.
func dcbBlock(c command, whole bool) (q fabric.QoS, err error) {
	var s schedulers
	order := ""
	failed := false
	for _, line := range c.lines {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		switch key := strings.TrimSuffix(words[0], ":"); {
		case key == "prio-pfc":
			q.PFC, err = dcbPFC(words[1:])
		case key == "tc-bw":
			err = pairs(words[1:], s.percent)
		case key == "tc-tsa":
			err = pairs(words[1:], s.algorithm)
		case key == "prio-tc":
			q.Queues, err = queueMap(words[1:])
		case key == "dscp-prio":
			err = dcbDSCP(&q, words[1:])
		case key == "order" && c.asks("apptrust"):
			order = dcbOrder(words[1:])
		case isDCBX(line + " "):
			q.DCBX = "firmware"
			if slices.Contains(words, "host") {
				q.DCBX = "host"
			}
		default:
			failed = failed || !isDCBLine(line)
		}
		if err != nil {
			return q, fmt.Errorf("%s: %w", fabric.Printable(words[0]), err)
		}
	}
	switch {
	case order != "":
		q.Trust = order
	case len(q.DSCP) > 0: // drivers of NICs classify by DSCP as soon as one has a priority (mlx5e_dcbnl_ieee_setapp)
		q.Trust = "dscp"
	case c.asks("app") && whole && !failed:
		q.Trust = "pcp"
	}
	if len(s) > 0 {
		q.Schedulers = s
	}
	return q, nil
}

// asks reports whether a command shows an object of the kernel's tables.
func (c command) asks(object string) bool {
	return slices.Contains(c.argv, object) && (slices.Contains(c.argv, "show") || !slices.Contains(c.argv, "set") && !slices.Contains(c.argv, "add"))
}

func dcbPFC(words []string) (*[]int, error) {
	list := []int{}
	err := pairs(words, func(priority int, text string) error {
		switch text {
		case "on":
			list = append(list, priority)
		case "off":
		default:
			return fmt.Errorf("%q is neither on nor off", fabric.Printable(text))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(words) < priorities {
		return nil, fmt.Errorf("%d of %d priorities", len(words), priorities)
	}
	slices.Sort(list)
	return &list, nil
}

func dcbDSCP(q *fabric.QoS, words []string) error {
	for _, w := range words {
		left, right, ok := strings.Cut(w, ":")
		dscp, err := dscpNamed(left)
		if err != nil {
			return err
		}
		priority, err := readNumber(right, priorities-1)
		if !ok || err != nil {
			return fmt.Errorf("%q: want DSCP:PRIORITY", fabric.Printable(w))
		}
		if err := addDSCP(q, dscp, priority); err != nil {
			return err
		}
	}
	return nil
}

// dscpNamed reads a number, or a name of iproute2's etc/iproute2/rt_dsfield: RFC 2474 (CS), 2597 (AF), 3246 (EF), 5865, 8622.
func dscpNamed(text string) (int, error) {
	class := func(at int) int { return int(text[at] - '0') }
	switch name := strings.ToUpper(text); {
	case name == "EF":
		return 46, nil
	case name == "DEFAULT" || name == "BE":
		return 0, nil
	case name == "VOICE-ADMIT" || name == "VA":
		return 44, nil
	case name == "LE":
		return 1, nil
	case len(name) == 3 && strings.HasPrefix(name, "CS") && name[2] >= '0' && name[2] <= '7':
		return 8 * class(2), nil
	case len(name) == 4 && strings.HasPrefix(name, "AF") && name[2] >= '1' && name[2] <= '4' && name[3] >= '1' && name[3] <= '3':
		return 8*class(2) + 2*class(3), nil
	}
	return readNumber(text, maxDSCP)
}

// dcbOrder returns which of DSCP and PCP comes first in the order of trust; empty: neither is trusted.
func dcbOrder(words []string) string {
	for _, w := range words {
		if w == "dscp" || w == "pcp" {
			return w
		}
	}
	return ""
}
