package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/mdlayher/netlink"

	"railwright.dev/railwright/internal/linux"
)

// Local is this machine, or this process's namespace of it. It is read and run on Linux alone: elsewhere all
// its methods but Name are ErrNeedsLinux.
type Local struct{}

// ErrNeedsLinux says that this machine does not run Linux, so that nothing can be read of it or started on it.
var ErrNeedsLinux = errors.New("needs Linux, this system is " + runtime.GOOS)

// Name is the host name.
func (Local) Name() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// Messages splits what Dump returned. A message cut short is an error.
func Messages(raw []byte) ([]netlink.Message, error) {
	var out []netlink.Message
	for len(raw) > 0 {
		if len(raw) < linux.SizeofNlMsghdr {
			return out, fmt.Errorf("netlink dump: %d bytes left, less than a header", len(raw))
		}
		size := int(binary.NativeEndian.Uint32(raw))
		aligned := (size + linux.NLMSG_ALIGNTO - 1) &^ (linux.NLMSG_ALIGNTO - 1)
		if size < linux.SizeofNlMsghdr || aligned > len(raw) {
			return out, fmt.Errorf("netlink dump: message of %d bytes in %d", size, len(raw))
		}
		var m netlink.Message
		if err := m.UnmarshalBinary(raw[:aligned]); err != nil {
			return out, fmt.Errorf("netlink message: %w", err)
		}
		out = append(out, m)
		raw = raw[aligned:]
	}
	return out, nil
}
