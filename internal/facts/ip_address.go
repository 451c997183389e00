package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// ipAddressRuns asks ip only where the kernel's own answer could not be had.
func ipAddressRuns(_ host.Host, f *fabric.Facts) []toolRun {
	return ipRuns(f, fabric.FactNICs, "address")
}

// ipLinkHead is "4: eth1@if3: <BROADCAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000".
var ipLinkHead = pattern.New(`^([0-9]{1,9}): ([^:@\s]+)(?:@\S+)?: <([A-Z0-9_,-]*)> mtu ([0-9]{1,9})\b(.*)$`)

func knowsIPAddress(text string) bool {
	return hasLine(text, func(line string) bool { return ipLinkHead().MatchString(strings.TrimLeft(line, " \t")) }) || isIPJSON(text, `"ifindex"`, `"ifname"`, `"mtu"`)
}

// ipLink is an interface as ip -j prints it.
type ipLink struct {
	Index     int      `json:"ifindex"`
	Name      string   `json:"ifname"`
	Flags     []string `json:"flags"`
	MTU       int      `json:"mtu"`
	OperState string   `json:"operstate"`
	MAC       string   `json:"address"`
	ParentBus string   `json:"parentbus"`
	ParentDev string   `json:"parentdev"`
	Info      struct {
		Kind string `json:"info_kind"`
		Data struct {
			Mode string `json:"mode"`
			PKey string `json:"pkey"`
		} `json:"info_data"`
	} `json:"linkinfo"`
	Addresses []struct {
		Local string `json:"local"`
		Bits  int    `json:"prefixlen"`
	} `json:"addr_info"`
}

// parseIPAddress reads ip address or ip link, with or without -details, as text or JSON.
func parseIPAddress(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		var links []ipLink
		if err := json.Unmarshal([]byte(text), &links); err != nil {
			return fabric.Facts{}, fmt.Errorf("ip: %w", err)
		}
		for _, l := range links {
			n, err := l.nic()
			if err != nil {
				return fabric.Facts{}, err
			}
			f.NICs = append(f.NICs, n)
		}
		return f, nil
	}
	for line := range strings.Lines(text) {
		if m := ipLinkHead().FindStringSubmatch(strings.Trim(line, " \t\r\n")); m != nil {
			n, err := ipHead(m)
			if err != nil {
				return fabric.Facts{}, err
			}
			f.NICs = append(f.NICs, n)
		} else if len(f.NICs) > 0 {
			if err := ipLine(&f.NICs[len(f.NICs)-1], strings.Fields(line)); err != nil {
				return fabric.Facts{}, err
			}
		}
	}
	if len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

func (l ipLink) nic() (fabric.NIC, error) {
	if !isInterfaceName(l.Name) {
		return fabric.NIC{}, fmt.Errorf("invalid interface name %q", fabric.Printable(l.Name))
	}
	n := fabric.NIC{Name: l.Name, Index: l.Index, MTU: l.MTU, OperState: ipOperState(l.OperState), Kind: fabric.Printable(l.Info.Kind)}
	if isMAC(l.MAC) {
		n.MAC = l.MAC
	}
	if l.Info.Kind == "ipoib" {
		n.IPoIB = ipoibOf(l.Info.Data.Mode, l.Info.Data.PKey)
	}
	n.PCI = ipParent(l.ParentBus, l.ParentDev)
	n.Carrier = ipCarrier(l.Flags)
	for _, a := range l.Addresses {
		p, err := ipPrefix(fmt.Sprintf("%s/%d", a.Local, a.Bits))
		if err != nil {
			return fabric.NIC{}, err
		}
		n.Addresses = append(n.Addresses, p)
	}
	return n, nil
}

func ipHead(m []string) (fabric.NIC, error) {
	if !isInterfaceName(m[2]) {
		return fabric.NIC{}, fmt.Errorf("invalid interface name %q", fabric.Printable(m[2]))
	}
	n := fabric.NIC{Name: m[2], Index: *number(m[1]), MTU: *number(m[4])}
	n.Carrier = ipCarrier(strings.Split(m[3], ","))
	n.OperState = ipOperState(wordAfter(strings.Fields(m[5]), "state"))
	return n, nil
}

// ipLine reads a line under the head of an interface.
func ipLine(n *fabric.NIC, words []string) error {
	if len(words) < 2 {
		return nil
	}
	switch {
	case strings.HasPrefix(words[0], "link/"):
		if isMAC(words[1]) {
			n.MAC = words[1]
		}
		n.PCI = ipParent(wordAfter(words, "parentbus"), wordAfter(words, "parentdev"))
	case words[0] == "inet" || words[0] == "inet6":
		p, err := ipOwn(words)
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		n.Addresses = append(n.Addresses, p)
	case slices.Contains(linkKinds(), words[0]):
		n.Kind = words[0]
		if n.Kind == "ipoib" {
			n.IPoIB = ipoibOf(wordAfter(words, "mode"), wordAfter(words, "pkey"))
			n.PCI = cmp.Or(n.PCI, ipParent(wordAfter(words, "parentbus"), wordAfter(words, "parentdev")))
		}
	}
	return nil
}

// ipoibOf is nil where neither is known.
func ipoibOf(mode, pkey string) *fabric.IPoIB {
	if mode != "datagram" && mode != "connected" {
		mode = ""
	}
	if n, err := strconv.ParseUint(pkey, 0, 16); err != nil || n == 0 {
		pkey = ""
	} else {
		pkey = fmt.Sprintf("0x%04x", n)
	}
	if mode == "" && pkey == "" {
		return nil
	}
	return &fabric.IPoIB{Mode: mode, PKey: pkey}
}

// ipOwn reads "inet 10.0.0.1/31" and "inet 10.0.0.1 peer 10.0.0.2/32": the length stands with the peer.
func ipOwn(words []string) (netip.Prefix, error) {
	own := starless(words[1])
	if peer := wordAfter(words, "peer"); peer != "" {
		_, bits, _ := strings.Cut(peer, "/")
		own += "/" + bits
	}
	return ipPrefix(own)
}

// linkKinds are those that ip -details names at the start of a line of its own.
func linkKinds() []string {
	return []string{
		"bond", "bridge", "dummy", "geneve", "gre", "ifb", "ipip", "ipoib", "ipvlan", "macvlan", "macvtap", "netkit",
		"team", "tun", "veth", "vlan", "vrf", "vxlan", "wireguard", "xfrm",
	}
}

func ipOperState(text string) string {
	state := strings.ToLower(text)
	switch state {
	case "up", "down", "lowerlayerdown", "dormant", "testing", "notpresent", "unknown":
		return state
	}
	return ""
}

// ipCarrier reads the flags: LOWER_UP is the carrier, which only an interface that is up can have.
func ipCarrier(flags []string) *bool {
	carrier := slices.Contains(flags, "LOWER_UP")
	if !carrier && !slices.Contains(flags, "UP") {
		return nil
	}
	return &carrier
}

func ipParent(bus, device string) string {
	if address, ok := pciAddress(device); bus == "pci" && ok {
		return address
	}
	return ""
}

func wordAfter(words []string, word string) string {
	if i := slices.Index(words, word); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// isMAC knows link-layer addresses: 6 bytes of Ethernet, 20 of IP over InfiniBand.
func isMAC(text string) bool {
	parts := strings.Split(text, ":")
	if len(parts) != 6 && len(parts) != 20 {
		return false
	}
	return !slices.ContainsFunc(parts, func(p string) bool { return len(p) != 2 || !isHex(p) })
}
