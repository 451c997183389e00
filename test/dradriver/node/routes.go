package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// route is one that an interface has on the node, and gets in the pod too. The kernel drops it with the interface.
type route struct {
	Table   int           `json:"table"`
	To      string        `json:"to"` // prefix; empty: everything
	Gateway net.IP        `json:"gateway,omitempty"`
	Scope   netlink.Scope `json:"scope"`
}

// rule sends what comes from an address to a table.
type rule struct {
	From     string `json:"from"`
	Table    int    `json:"table"`
	Priority int    `json:"priority"`
}

// readRoutes leaves out what the kernel makes itself for each address.
func (n *nic) readRoutes(link netlink.Link) error {
	all, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{LinkIndex: link.Attrs().Index, Table: unix.RT_TABLE_UNSPEC},
		netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
	if err != nil {
		return fmt.Errorf("routes of %s: %w", n.Host, err)
	}
	tables := map[int]bool{}
	for _, r := range all {
		if r.Protocol == unix.RTPROT_KERNEL || r.Table == unix.RT_TABLE_LOCAL {
			continue
		}
		one := route{Table: r.Table, Gateway: r.Gw, Scope: r.Scope}
		if r.Dst != nil {
			one.To = r.Dst.String()
		}
		n.Routes = append(n.Routes, one)
		tables[r.Table] = r.Table != unix.RT_TABLE_MAIN
	}
	rules, err := netlink.RuleList(netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("rules for the routes of %s: %w", n.Host, err)
	}
	for _, r := range rules {
		if r.Src != nil && tables[r.Table] {
			n.Rules = append(n.Rules, rule{From: r.Src.String(), Table: r.Table, Priority: r.Priority})
		}
	}
	return nil
}

func (r route) add(h *netlink.Handle, link netlink.Link) error {
	one := &netlink.Route{LinkIndex: link.Attrs().Index, Table: r.Table, Gw: r.Gateway, Scope: r.Scope}
	if r.To != "" {
		_, to, err := net.ParseCIDR(r.To)
		if err != nil {
			return err
		}
		one.Dst = to
	}
	if err := h.RouteReplace(one); err != nil {
		return fmt.Errorf("route %+v: %w", r, err)
	}
	return nil
}

func addRules(h *netlink.Handle, rules []rule) error {
	var errs []error
	for _, r := range rules {
		_, from, err := net.ParseCIDR(r.From)
		if err == nil {
			one := netlink.NewRule()
			one.Src, one.Table, one.Priority = from, r.Table, r.Priority
			err = h.RuleAdd(one)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
