package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"railwright.dev/railwright/internal/host"
)

// sender sends from one NIC and its address, and nowhere else: bound by address alone, a packet leaves by
// whatever route the kernel likes, and ARP flux stays unseen.
type sender struct {
	fd  int
	err error // why it cannot send
}

func newSender(nic meshNIC) *sender {
	s := &sender{fd: -1}
	s.err = s.open(nic)
	return s
}

func (s *sender) open(nic meshNIC) error {
	address, err := netip.ParseAddr(nic.Address)
	if err != nil {
		return err
	}
	if s.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_ICMP); err != nil {
		return fmt.Errorf("raw socket: %w", err)
	}
	const nothing = -1 // all types filtered out: the watcher receives
	const buffer = 4 << 20
	return errors.Join(
		option("receive nothing", unix.SetsockoptInt(s.fd, unix.SOL_RAW, unix.ICMP_FILTER, nothing)),
		option("bind to device "+nic.NIC, unix.BindToDevice(s.fd, nic.NIC)),
		option("bind to address "+nic.Address, unix.Bind(s.fd, &unix.SockaddrInet4{Addr: address.As4()})),
		// Do not fragment, and do not believe what was learned of the path before.
		option("do not fragment", unix.SetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)),
		option("send buffer", unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, buffer)))
}

func option(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (s *sender) send(packet []byte, to string) error {
	if s.err != nil {
		return s.err
	}
	address, err := netip.ParseAddr(to)
	if err != nil {
		return err
	}
	err = unix.Sendto(s.fd, packet, 0, &unix.SockaddrInet4{Addr: address.As4()})
	if errors.Is(err, unix.EMSGSIZE) {
		return fmt.Errorf("%d bytes are more than the interface takes: %w", len(packet)+ipv4Header, err)
	}
	return err
}

func (s *sender) close() error {
	if s.fd < 0 {
		return nil
	}
	return unix.Close(s.fd)
}

// watcher receives every incoming ICMP message, on any NIC.
type watcher struct {
	file  *os.File
	drain func() error // reads what waits in the socket
	done  chan struct{}

	finished bool
}

func newWatcher(handle func(seenPacket)) (*watcher, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_ICMP)
	if err != nil {
		return nil, fmt.Errorf("raw ICMP socket (needs root or CAP_NET_RAW): %w", err)
	}
	const wanted = 1<<echoReply | 1<<echoRequest | 1<<unreachable
	const buffer = 32 << 20 // a mesh of full-size packets comes in at once
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) != nil {
		// Without CAP_NET_ADMIN the kernel gives as much as net.core.rmem_max allows.
		err = option("receive buffer", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer))
	}
	err = errors.Join(err,
		option("filter", unix.SetsockoptInt(fd, unix.SOL_RAW, unix.ICMP_FILTER, ^wanted)),
		option("packet info", unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)),
		option("time stamps", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)))
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	names, err := interfaceNames()
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	w := &watcher{file: os.NewFile(uintptr(fd), "icmp"), done: make(chan struct{})}
	raw, err := w.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	w.drain = func() error {
		// Control, because the watching goroutine holds the right to Read.
		return raw.Control(func(fd uintptr) { watch(int(fd), names, handle) })
	}
	host.Go(func() {
		defer close(w.done)
		// Ends when the file is closed: that is how close stops it.
		_ = raw.Read(func(fd uintptr) bool { return !watch(int(fd), names, handle) })
	})
	return w, nil
}

func interfaceNames() (map[int]string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	names := make(map[int]string)
	for _, i := range all {
		names[i.Index] = i.Name
	}
	return names, nil
}

// finish reads what has arrived and then stops listening. It can be called again.
func (w *watcher) finish() error {
	if w.finished {
		return nil
	}
	w.finished = true
	err := errors.Join(w.drain(), w.file.Close())
	<-w.done
	return err
}

// watch reads the messages that have arrived. It is true while the socket is valid and merely empty.
func watch(fd int, names map[int]string, handle func(seenPacket)) bool {
	var packet [512]byte // enough for an error with the start of an echo in it; the rest of an echo is zeros
	var control [256]byte
	for {
		n, size, _, _, err := unix.Recvmsg(fd, packet[:], control[:], 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			return true
		}
		if err != nil {
			return false
		}
		p, ok := parsePacket(packet[:n])
		if !ok {
			continue
		}
		p.at = time.Now()
		readControl(control[:size], names, &p)
		handle(p)
	}
}

// readControl takes the interface and the kernel's time stamp out of a message's ancillary data.
func readControl(control []byte, names map[int]string, p *seenPacket) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return // the interface then stays unknown, and the pair with it
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 4:
			p.nic = names[int(binary.NativeEndian.Uint32(m.Data))]
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16:
			p.at = time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		}
	}
}
