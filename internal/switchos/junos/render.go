// Package junos is Junos on QFX switches: what is rendered for it, and what its configuration says in braces or as set commands.
package junos

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// OS is Junos OS Evolved of Juniper QFX5240 and its relatives, configured with braces: Broadcom 957608-AN209, 2.4.1.4,
// 2.4.2.4 and 2.5.3, without what is printed wrongly there. The statements are those of Juniper's CLI reference and of its
// model of 23.4R1-EVO; no switch has parsed what is rendered.
type OS struct{}

// Names returns the id and the title of Junos.
func (OS) Names() (id, title string) { return "junos", "Junos" }

// Load returns the command that adds a copied file to the configuration, has it checked, and takes it into service.
func (OS) Load(file string) string {
	return `cli -c "configure exclusive; load merge ` + file + `; commit check; commit"`
}

// junosFile writes blocks.
type junosFile struct {
	strings.Builder
	depth int
	omits []string
}

// put writes a statement.
func (f *junosFile) put(format string, values ...any) {
	f.WriteString(strings.Repeat("    ", f.depth))
	fmt.Fprintf(f, format, values...)
	f.WriteString(";\n")
}

// in writes a block; the name of one within one within one may be given at once.
func (f *junosFile) in(inside func(), names ...string) {
	for _, name := range names {
		f.WriteString(strings.Repeat("    ", f.depth) + name + " {\n")
		f.depth++
	}
	inside()
	for range names {
		f.depth--
		f.WriteString(strings.Repeat("    ", f.depth) + "}\n")
	}
}

func (f *junosFile) omit(format string, values ...any) {
	f.omits = append(f.omits, fmt.Sprintf(format, values...))
}

// Render returns what load merge adds to the configuration of the switch.
func (OS) Render(s fabric.Switch, t *fabric.Traffic) switchtext.Config {
	f := &junosFile{}
	f.omit("FEC and link training of ports: Junos takes those of the optics, and its fec has words for clauses 74, 91 and 108, none for clause 119 of 400 and 800 Gb/s")
	f.omit("management interface and users")
	f.in(func() { f.put("host-name %s", s.Name) }, "system")
	f.interfaces(s)
	if s.BGP != nil {
		f.bgp(s)
	} else {
		f.omit("routing to other switches: the plan has none")
	}
	for _, p := range s.Ports {
		if p.Uplink {
			f.balancing()
			break
		}
	}
	if t == nil {
		f.omit("class-of-service: the plan has no traffic classes")
	} else {
		f.classOfService(s, *t)
	}
	f.vlans(s)
	return switchtext.Config{Path: "/var/tmp/railwright.conf", Extension: ".conf", Text: []byte(f.String()), Omits: f.omits}
}

// maxMTU is the largest MTU of a port, in bytes of a frame without its checksum. It is what 2.4.2.4 prints and what the
// CLI reference has for QFX; whether a QFX5240 takes more is in no source at hand.
const maxMTU = 9216

// tagRoom is what a routed port may take beyond the packet and its Ethernet header: two VLAN tags. Its family inet mtu says
// what IP may send. A switched port has exactly the packet and the header: a larger one would let packets in that the next
// port drops.
const tagRoom = 8

// junosFrame returns the MTU of a port; 0: it cannot have the plan's.
func junosFrame(s fabric.Switch, routed bool) int {
	frame := s.MTU + junosHeader
	if s.MTU == 0 || frame > maxMTU {
		return 0
	}
	if routed {
		return min(frame+tagRoom, maxMTU)
	}
	return frame
}

// interfaces writes each cage that is split, once, and each port, once.
func (f *junosFile) interfaces(s fabric.Switch) {
	split, ports := map[string]bool{}, map[string]bool{}
	f.in(func() {
		for _, p := range s.Ports {
			cage, _, sub := strings.Cut(p.Name, ":")
			if sub && p.Breakout > 1 && !split[cage] {
				split[cage] = true
				f.in(func() {
					f.put("number-of-sub-ports %d", p.Breakout)
					if p.RateGbps > 0 {
						f.put("speed %sg", strconv.FormatFloat(p.RateGbps, 'f', -1, 64))
					}
				}, cage)
			}
			if !ports[p.Name] {
				ports[p.Name] = true
				f.port(s, p)
			}
		}
		f.irb(s)
	}, "interfaces")
	f.leftOut(s)
}

func (f *junosFile) leftOut(s fabric.Switch) {
	unsplit, bare := 0, 0
	for _, p := range s.Ports {
		if strings.Contains(p.Name, ":") && p.Breakout == 0 {
			unsplit++
		}
		if !p.Address.IsValid() && p.VLAN == 0 {
			bare++
		}
	}
	if unsplit > 0 {
		f.omit("number-of-sub-ports of the cages: the catalog does not say into how many ports they are split")
	}
	if bare > 0 {
		f.omit("addresses and VLANs of %d ports: the plan has none for them", bare)
	}
	if s.MTU > 0 && junosFrame(s, false) == 0 {
		f.omit("mtu: a frame of Junos has at most %d bytes, and packets of %d with their header have %d", maxMTU, s.MTU, s.MTU+junosHeader)
	}
	if s.MTU > 0 && junosFrame(s, true) != 0 {
		f.omit("mtu of a routed port counts the Ethernet header (14) and room for two tags (8) beside the packet; that of a switched port the header alone")
	}
}

func (f *junosFile) port(s fabric.Switch, p fabric.SwitchPort) {
	f.in(func() {
		f.put("description %s", junosString(p.Peer.String()))
		if p.RateGbps > 0 && !strings.Contains(p.Name, ":") {
			f.put("speed %sg", strconv.FormatFloat(p.RateGbps, 'f', -1, 64))
		}
		routed := p.Address.IsValid()
		if mtu := junosFrame(s, routed); mtu > 0 {
			f.put("mtu %d", mtu)
		}
		switch {
		case routed:
			f.in(func() {
				if junosFrame(s, true) > 0 {
					f.put("mtu %d", s.MTU)
				}
				f.put("address %s", p.Address)
			}, "unit 0", "family inet")
		case p.VLAN > 0:
			f.in(func() {
				f.put("interface-mode access")
				f.in(func() { f.put("members %s", vlanName(s, p.VLAN)) }, "vlan")
			}, "unit 0", "family ethernet-switching")
		}
	}, p.Name)
}

// irb writes the switch's own address in each VLAN.
func (f *junosFile) irb(s fabric.Switch) {
	gateways := 0
	for _, v := range s.VLANs {
		if v.Gateway.IsValid() {
			gateways++
		}
	}
	if gateways == 0 {
		return
	}
	f.in(func() {
		mtu := junosFrame(s, false)
		if mtu > 0 {
			f.put("mtu %d", mtu)
		}
		for _, v := range s.VLANs {
			if !v.Gateway.IsValid() {
				continue
			}
			f.in(func() {
				if mtu > 0 {
					f.put("mtu %d", s.MTU)
				}
				f.put("address %s", v.Gateway)
			}, fmt.Sprintf("unit %d", v.ID), "family inet")
		}
	}, "irb")
}

// vlanName returns the name of a VLAN; its number is one too.
func vlanName(s fabric.Switch, id int) string {
	for _, v := range s.VLANs {
		if v.ID == id && v.Name != "" {
			return junosString(v.Name)
		}
	}
	return strconv.Itoa(id)
}

func (f *junosFile) vlans(s fabric.Switch) {
	if len(s.VLANs) == 0 {
		return
	}
	f.in(func() {
		for _, v := range s.VLANs {
			name := junosString(v.Name)
			if v.Name == "" {
				name = fmt.Sprintf("vlan%d", v.ID)
			}
			f.in(func() {
				f.put("vlan-id %d", v.ID)
				if v.Gateway.IsValid() {
					f.put("l3-interface irb.%d", v.ID)
				}
			}, name)
		}
	}, "vlans")
}

// junosString writes a word, in quotes where it is not one.
func junosString(text string) string {
	plain := text != "" && strings.IndexFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("-_.:/", r)
	}) < 0
	if plain {
		return text
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, text)
	return `"` + clean + `"`
}

// bgp writes external BGP to the switches at the ends of the uplinks. A switch with networks announces those alone, so that
// no leaf is a way between two spines; one without hands on what it hears, as BGP does by itself.
func (f *junosFile) bgp(s fabric.Switch) {
	f.in(func() {
		if s.BGP.RouterID.IsValid() {
			f.put("router-id %s", s.BGP.RouterID)
		}
		f.put("autonomous-system %d", s.BGP.ASN)
		f.in(func() { f.put("export %s-ECMP", switchtext.QoSName) }, "forwarding-table")
	}, "routing-options")
	f.in(func() {
		if len(s.BGP.Networks) > 0 {
			f.in(func() {
				for _, n := range s.BGP.Networks {
					f.put("%s", n)
				}
			}, "prefix-list "+switchtext.QoSName)
			f.in(func() {
				f.in(func() {
					f.in(func() {
						f.put("protocol direct")
						f.put("prefix-list-filter %s orlonger", switchtext.QoSName)
					}, "from")
					f.put("then accept")
				}, "term own")
				f.in(func() { f.put("then reject") }, "term rest")
			}, "policy-statement "+switchtext.QoSName)
		}
		f.in(func() {
			f.in(func() { f.put("load-balance per-packet") }, "then") // of a flow, in spite of its name
		}, "policy-statement "+switchtext.QoSName+"-ECMP")
	}, "policy-options")
	f.in(func() {
		f.put("type external")
		if len(s.BGP.Networks) > 0 {
			f.put("export %s", switchtext.QoSName)
		}
		f.in(func() { f.put("multiple-as") }, "multipath")
		for _, n := range s.BGP.Neighbours {
			f.in(func() { f.put("peer-as %d", n.ASN) }, fmt.Sprintf("neighbor %s", n.Address))
		}
	}, "protocols", "bgp", "group "+switchtext.QoSName)
}

// balancing spreads flows over the uplinks by their load: the values are those of 2.5.3.
func (f *junosFile) balancing() {
	f.in(func() {
		f.in(func() { f.put("layer-3"); f.put("layer-4") }, "hash-key", "family inet")
		f.in(func() {
			f.in(func() {
				f.put("inactivity-interval 256")
				f.put("flowset-table-size 2048")
				f.in(func() { f.put("prob-threshold 3"); f.put("quality-delta 6") }, "reassignment")
			}, "flowlet")
			f.in(func() { f.put("ipv4") }, "ether-type")
			f.put("sampling-rate 1000000")
		}, "enhanced-hash-key", "ecmp-dlb")
	}, "forwarding-options")
}
