package bench

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// arpWatcher keeps the ARP requests that come in, on any NIC. Who asks is on the same cable: also where nothing answers, because
// the cable is in another port than planned.
type arpWatcher struct{ fd int }

// An ARP packet for IPv4 over Ethernet (RFC 826), in bytes: its length, and where its operation and the sender's address are.
const (
	arpLength    = 28
	arpOperation = 6
	arpSender    = 14
	arpRequest   = 1
)

// newARPWatcher listens; where that is not allowed it hears nothing.
func newARPWatcher() *arpWatcher {
	protocol := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ARP)) // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(protocol))
	if err != nil {
		return &arpWatcher{fd: -1}
	}
	return &arpWatcher{fd: fd}
}

// mostHeard is how many addresses are kept: a cable has two ends, and a machine few NICs.
const mostHeard = 64

// finish returns which addresses asked, by NIC.
func (w *arpWatcher) finish() map[string][]string {
	if w.fd < 0 {
		return nil
	}
	defer func() { _ = unix.Close(w.fd) }() // what was heard was read
	heard := make(map[string][]string)
	seen := make(map[string]bool)
	var packet [128]byte
	for len(seen) < mostHeard {
		n, from, err := unix.Recvfrom(w.fd, packet[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			break
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		asker, request := parseARP(packet[:n])
		if !ok || link.Pkttype == unix.PACKET_OUTGOING || !request {
			continue
		}
		nic, err := net.InterfaceByIndex(link.Ifindex)
		if err != nil || seen[nic.Name+" "+asker.String()] {
			continue
		}
		seen[nic.Name+" "+asker.String()] = true
		heard[nic.Name] = append(heard[nic.Name], asker.String())
	}
	return heard
}

// parseARP returns who asks; a probe has no address yet.
func parseARP(packet []byte) (asker netip.Addr, request bool) {
	if len(packet) < arpLength || binary.BigEndian.Uint16(packet[arpOperation:]) != arpRequest {
		return asker, false
	}
	asker = netip.AddrFrom4([4]byte(packet[arpSender : arpSender+4]))
	return asker, !asker.IsUnspecified()
}
