package facts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jsimonetti/rtnetlink/v2"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/linux"
)

const (
	netClass = "/sys/class/net"
	ipv4Conf = "/proc/sys/net/ipv4/conf"
)

// readLinks returns the network interfaces: netlink names them, sysfs adds the hardware under each.
func readLinks(ctx context.Context, h host.Host, f *fabric.Facts) {
	raw, ok := netlinkDump(ctx, h, f, fabric.FactNICs, linux.RTM_GETLINK, linux.AF_UNSPEC)
	if !ok {
		return
	}
	nics, err := decodeLinks(raw)
	if err != nil {
		miss(f, fabric.FactNICs, "netlink", err)
	}
	all := confOf(h, "all")
	for i := range nics {
		addHardware(h, f, &nics[i])
		addConf(h, f, &nics[i], all)
	}
	f.NICs = nics
}

// decodeLinks reads RTM_NEWLINK messages, sorted by interface index.
func decodeLinks(raw []byte) ([]fabric.NIC, error) {
	var nics []fabric.NIC
	err := eachMessage(raw, linux.RTM_NEWLINK, func(data []byte) error {
		var m rtnetlink.LinkMessage
		if err := m.UnmarshalBinary(data); err != nil {
			return err
		}
		if m.Attributes == nil || !isInterfaceName(m.Attributes.Name) {
			return errors.New("link message without a valid name")
		}
		nics = append(nics, nicOf(m))
		return nil
	})
	slices.SortStableFunc(nics, func(a, b fabric.NIC) int { return cmp.Compare(a.Index, b.Index) })
	return nics, err
}

func nicOf(m rtnetlink.LinkMessage) fabric.NIC {
	a := m.Attributes
	n := fabric.NIC{
		Name:      a.Name,
		Index:     int(m.Index),
		MAC:       a.Address.String(),
		MTU:       int(a.MTU),
		OperState: operState(a.OperationalState),
	}
	if a.Carrier != nil {
		carrier := *a.Carrier != 0
		n.Carrier = &carrier
	}
	if a.Info != nil {
		n.Kind = fabric.Printable(a.Info.Kind)
	}
	return n
}

// isInterfaceName is the kernel's rule (dev_valid_name): a name that satisfies it is safe in a path.
func isInterfaceName(name string) bool {
	return name != "" && len(name) < linux.IFNAMSIZ && name != "." && name != ".." &&
		!strings.ContainsAny(name, "/: \t\n\v\f\r") && fabric.Printable(name) == name
}

// operState writes the state as sysfs does (RFC 2863).
func operState(s rtnetlink.OperationalState) string {
	names := [...]string{"unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"}
	if int(s) < len(names) {
		return names[s]
	}
	return names[0]
}

// ipoibBytes is the length of the link-layer address of an interface over InfiniBand (RFC 4391, 9.1.1).
const ipoibBytes = 20

// addHardware adds PCI function, driver and speed. Sysfs shows the namespace in which it was mounted, so
// an entry with another link-layer address is another interface that happens to have the same name.
func addHardware(h host.Host, f *fabric.Facts, n *fabric.NIC) {
	folder := netClass + "/" + n.Name
	mac, err := host.ReadString(h, folder+"/address")
	if err == nil && mac != n.MAC {
		err = errors.New("sysfs shows an interface of another network namespace")
	}
	if err == nil {
		n.PCI, err = pciOf(h, folder)
	}
	if err != nil {
		for _, what := range []string{fabric.FactNICPCI, fabric.FactNICDriver, fabric.FactNICSpeed} {
			miss(f, what+" "+n.Name, folder, err)
		}
		return
	}
	if n.Driver, err = driverOf(h, folder+"/device"); err != nil {
		miss(f, fabric.FactNICDriver+" "+n.Name, folder+"/device/driver", err)
	}
	if strings.Count(n.MAC, ":") == ipoibBytes-1 {
		mode, _ := host.ReadString(h, folder+"/mode")
		pkey, _ := host.ReadString(h, folder+"/pkey")
		n.IPoIB = ipoibOf(mode, pkey)
	}
	if n.SpeedMbps, err = speedOf(h, folder+"/speed"); err != nil && n.PCI != "" && n.OperState == "up" {
		miss(f, fabric.FactNICSpeed+" "+n.Name, folder+"/speed", err) // a virtual or idle interface has none
	}
}

// speedOf reads Mb/s. The kernel gives -1, or an error, where there is none.
func speedOf(h host.Host, file string) (*int, error) {
	n, err := readInt(h, file)
	if err != nil {
		return nil, err
	}
	if *n < 0 {
		return nil, errors.New("the driver does not report it")
	}
	return n, nil
}

// conf are sysctls of an interface: which of them answers for an address, and what it lets in.
type conf struct{ arpIgnore, arpAnnounce, rpFilter setting }

type setting struct {
	value int
	err   error
}

func confOf(h host.Host, nic string) conf {
	return conf{
		arpIgnore:   confFile(h, nic, "arp_ignore"),
		arpAnnounce: confFile(h, nic, "arp_announce"),
		rpFilter:    confFile(h, nic, "rp_filter"),
	}
}

func confFile(h host.Host, nic, name string) setting {
	text, err := host.ReadString(h, ipv4Conf+"/"+nic+"/"+name)
	if err != nil {
		return setting{err: err}
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return setting{err: fmt.Errorf("invalid number %q", fabric.Printable(text))}
	}
	return setting{value: n}
}

// addConf adds what is in effect: the kernel takes the higher of conf/all and conf/NIC (IN_DEV_MAXCONF).
func addConf(h host.Host, f *fabric.Facts, n *fabric.NIC, all conf) {
	own := confOf(h, n.Name)
	n.ARPIgnore = higher(f, n.Name, fabric.FactNICARPIgnore, "arp_ignore", all.arpIgnore, own.arpIgnore)
	n.ARPAnnounce = higher(f, n.Name, fabric.FactNICARPAnnounce, "arp_announce", all.arpAnnounce, own.arpAnnounce)
	n.RPFilter = higher(f, n.Name, fabric.FactNICRPFilter, "rp_filter", all.rpFilter, own.rpFilter)
}

// higher returns the value in effect; file is its name below conf.
func higher(f *fabric.Facts, nic, fact, file string, all, own setting) *int {
	if err := cmp.Or(all.err, own.err); err != nil {
		miss(f, fact+" "+nic, ipv4Conf+"/{all,"+nic+"}/"+file, err)
		return nil
	}
	n := max(all.value, own.value)
	return &n
}
