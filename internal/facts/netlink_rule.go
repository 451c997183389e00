package facts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

// readRules returns the IPv4 routing policy rules, in kernel order: of two rules of one priority the first
// wins. A rule that does more than a fabric.Rule can say (a mark, a port, goto) is left out, because
// without that part it would read as a rule for everything; Missing names it by its priority.
func readRules(ctx context.Context, h host.Host, f *fabric.Facts) {
	raw, ok := netlinkDump(ctx, h, f, fabric.FactRules, linux.RTM_GETRULE, familyIPv4)
	if !ok {
		return
	}
	rules, odd, err := decodeRules(raw)
	if err != nil {
		miss(f, fabric.FactRules, "netlink", err)
	}
	for _, o := range odd {
		miss(f, fmt.Sprintf("rules %d", o.priority), "netlink", o.err)
	}
	f.Rules = rules
}

// oddRule is a rule that was understood but cannot be expressed.
type oddRule struct {
	priority int
	err      error
}

// decodeRules reads RTM_NEWRULE messages.
func decodeRules(raw []byte) (rules []fabric.Rule, odd []oddRule, err error) {
	err = eachMessage(raw, linux.RTM_NEWRULE, func(data []byte) error {
		var m rtnetlink.RuleMessage
		if err := m.UnmarshalBinary(data); err != nil {
			return err
		}
		if m.Family != familyIPv4 {
			return nil
		}
		if m.Attributes == nil {
			m.Attributes = &rtnetlink.RuleAttributes{}
		}
		rule, err := ruleOf(m)
		if err != nil {
			return err
		}
		if err := inexpressible(m); err != nil {
			odd = append(odd, oddRule{priority: rule.Priority, err: err})
			return nil
		}
		rules = append(rules, rule)
		return nil
	})
	return rules, odd, err
}

func ruleOf(m rtnetlink.RuleMessage) (fabric.Rule, error) {
	a := m.Attributes
	r := fabric.Rule{Table: int(m.Table)}
	if a.Table != nil { // the header has one byte only
		r.Table = int(*a.Table)
	}
	if a.Priority != nil { // absent: 0
		r.Priority = int(*a.Priority)
	}
	if a.IIFName != nil {
		r.NIC = fabric.Printable(*a.IIFName)
	}
	var err error
	if r.From, err = selector(a.Src, m.SrcLength); err != nil {
		return fabric.Rule{}, err
	}
	r.To, err = selector(a.Dst, m.DstLength)
	return r, err
}

// selector is the zero Prefix where a rule does not look at the address.
func selector(ip *net.IP, bits uint8) (netip.Prefix, error) {
	if ip == nil && bits == 0 {
		return netip.Prefix{}, nil
	}
	if ip == nil {
		return netip.Prefix{}, fmt.Errorf("rule with a selector of %d bits without an address", bits)
	}
	return prefix(*ip, bits)
}

// Values of struct fib_rule_hdr (linux/fib_rules.h).
const (
	ruleInvert  = 0x2 // FIB_RULE_INVERT
	ruleToTable = 1   // FR_ACT_TO_TBL
)

// inexpressible returns what a rule has beyond priority, from, to, iif and table.
func inexpressible(m rtnetlink.RuleMessage) error {
	a := m.Attributes
	switch {
	case m.Action != ruleToTable:
		return fmt.Errorf("action %d is not a table lookup", m.Action)
	case m.Flags&ruleInvert != 0:
		return errors.New("rule is inverted (not)")
	case m.TOS != 0:
		return errors.New("selects by TOS")
	case a.FwMark != nil || a.FwMask != nil:
		return errors.New("selects by firewall mark")
	case a.OIFName != nil:
		return errors.New("selects by outgoing interface")
	case a.SPortRange != nil || a.DPortRange != nil || a.IPProto != nil:
		return errors.New("selects by protocol or port")
	case a.UIDRange != nil || a.TunID != nil || a.SrcRealm != nil || a.DstRealm != nil:
		return errors.New("selects by user, tunnel or realm")
	case a.L3MDev != nil && *a.L3MDev != 0:
		return errors.New("looks up the table of a VRF")
	case suppresses(a.SuppressPrefixLen) || suppresses(a.SuppressIFGroup):
		return errors.New("suppresses some routes of its table")
	default:
		return nil
	}
}

// suppresses reports whether a value is set: the kernel writes -1 for none.
func suppresses(v *uint32) bool { return v != nil && *v != math.MaxUint32 }
