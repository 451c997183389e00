package render

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

const (
	keyfileFolder = "/etc/NetworkManager/system-connections/"
	unmanagedPath = "/etc/NetworkManager/conf.d/60-railwright.conf"
)

const keyfileHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
# The NIC answers from its own address by its own table: what the netplan file of other hosts says.
# autoconnect-priority: before the profile that an installer made for the same NIC.
# wait-device-timeout, in milliseconds: the driver of the NIC may still be loading when NetworkManager starts.
# may-fail: NetworkManager-wait-online waits for the address.
`

// deviceTimeout in milliseconds is how long the start of NetworkManager waits for a NIC: waitSeconds bounds the same wait
// with networkd.
const deviceTimeout = waitSeconds * 1000

// Keyfile renders the address, routes and source rule of one NIC for NetworkManager (nm-settings-keyfile(5)), with the same
// meaning as Netplan: no DHCP, no IPv6, the routes in the NIC's own table. mtu is in bytes.
// It panics on a name that CheckNICName refuses: the name is part of a path.
func Keyfile(mtu int, scheme fabric.Scheme, node string, nic fabric.NICAddress) fabric.Artifact {
	if err := CheckNICName(nic.NIC); err != nil {
		panic(err)
	}
	id := "railwright-" + nic.NIC
	b := append(make([]byte, 0, len(keyfileHead)+640), keyfileHead...)
	b = append(b, "[connection]\nid="+id+"\nuuid="+connectionUUID(node, nic.NIC)+"\ntype=ethernet\nautoconnect-priority=100\nautoconnect-retries=0\n"+
		"interface-name="+nic.NIC+"\nwait-device-timeout="+strconv.Itoa(deviceTimeout)+"\n\n[ethernet]\nmtu="+strconv.Itoa(mtu)+
		"\n\n[ipv4]\naddress1="+nic.Address.String()+"\nmay-fail=false\nmethod=manual\n"...)
	routes := 0
	add := func(route string) {
		routes++
		key := "route" + strconv.Itoa(routes)
		b = append(b, key+"="+route+"\n"+key+"_options=table="+strconv.Itoa(nic.Table)+"\n"...)
	}
	if nic.Gateway.IsValid() {
		add(netip.PrefixFrom(netip.IPv4Unspecified(), 0).String() + "," + nic.Gateway.String())
	}
	if scheme == fabric.Rail24 || scheme == fabric.Flat {
		add(nic.Address.Masked().String())
	}
	b = append(b, "routing-rule1=priority "+strconv.Itoa(nic.RulePriority())+" from "+nic.Address.Addr().String()+" table "+strconv.Itoa(nic.Table)+
		"\n\n[ipv6]\nmethod=disabled\n"...)
	return newArtifact(node, keyfileFolder+id+".nmconnection", modePrivate, b)
}

// connectionUUID is the same for a NIC at every rendering (RFC 9562, version 8: made by a rule of our own, from a hash).
func connectionUUID(node, nic string) string {
	h := sha256.Sum256([]byte("railwright.dev/connection/" + node + "/" + nic))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
	x := hex.EncodeToString(h[:16])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

const unmanagedHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
# systemd-networkd configures these NICs by netplan. Its start does not stop NetworkManager: where that runs too, it would
# give each of them a profile of its own with DHCP. Without NetworkManager nothing reads this file.
[keyfile]
unmanaged-devices+=`

// Unmanaged keeps NetworkManager off the NICs of the fabric (NetworkManager.conf(5), unmanaged-devices; += adds to what
// other files list). It panics on a name that CheckNICName refuses: no other character means something else here.
func Unmanaged(n fabric.NodeAddresses) fabric.Artifact {
	b := append(make([]byte, 0, len(unmanagedHead)+len(n.NICs)*24), unmanagedHead...)
	for i, nic := range n.NICs {
		if err := CheckNICName(nic.NIC); err != nil {
			panic(err)
		}
		if i > 0 {
			b = append(b, ';')
		}
		b = append(b, "interface-name:="+nic.NIC...)
	}
	return newArtifact(n.Node, unmanagedPath, modePublic, append(b, '\n'))
}
