package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"railwright.dev/railwright/internal/host"
)

// holderSpec is what a holder reads from its standard input.
type holderSpec struct {
	Name   string     `json:"name"`
	Switch bool       `json:"switch"`
	Files  []fileSpec `json:"files,omitempty"`
}

// fileSpec is a file to write on a machine.
type fileSpec struct {
	Path    string `json:"path"`
	Mode    uint32 `json:"mode"`
	Content []byte `json:"content"`
}

// Hold makes the namespaces of this process into a lab host and then keeps them: its own host name,
// /sys of its network, an empty /run, and an /etc and /var/lib that look like the machine's and take
// changes that are seen nowhere else. It says "ready" and never returns but for an error.
func Hold(in io.Reader, out io.Writer) error {
	var s holderSpec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("lab host: %w", err)
	}
	if err := s.prepare(); err != nil {
		return fmt.Errorf("lab host %q: %w", s.Name, err)
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	return pause()
}

func (s holderSpec) prepare() error {
	if err := setHostname(s.Name); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	if err := mounts(); err != nil {
		return err
	}
	if err := s.files(); err != nil {
		return err
	}
	for _, f := range s.Files {
		if err := f.write(); err != nil {
			return err
		}
	}
	if err := s.sysctls(); err != nil {
		return err
	}
	n, err := host.OpenNetwork("")
	if err != nil {
		return err
	}
	return errors.Join(n.SetUp("lo", true), n.Close())
}

func (f fileSpec) write() error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(f.Path, f.Content, fs.FileMode(f.Mode))
}

// copyTree copies folders, files and links; what this user may not read (password hashes, keys) stays out.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(name, from))
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case d.Type().IsRegular():
			return copyFile(name, target)
		default:
			return nil
		}
	})
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// files clears the network configuration of the machine out of the host's /etc, and lays what the
// daemons expect.
func (s holderSpec) files() error {
	for _, pattern := range []string{"/etc/netplan/*", "/etc/systemd/network/*", "/etc/sysctl.d/*", "/etc/lldpd.*"} {
		old, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range old {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	for _, folder := range []string{"/etc/netplan", "/etc/lldpd.d", "/run/systemd/network", "/run/lldpd", "/run/railwright",
		"/run/systemd/netif/links", "/run/systemd/netif/leases", "/run/systemd/netif/lldp"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if err := ownedByNetworkd("/run/systemd/netif"); err != nil {
		return err
	}
	// The port id of a switch is its interface name, as on SONiC; one second between frames instead of
	// thirty, so that a cable shows soon. What was heard holds for 30 intervals instead of four: on a busy machine an lldpd that
	// serves many ports falls behind by more than four seconds, and its neighbours would forget a cable that is there.
	lldpd := "configure lldp portidsubtype ifname\nconfigure lldp tx-interval 1\nconfigure lldp tx-hold 30\n"
	return errors.Join(
		os.WriteFile("/etc/lldpd.d/railwright.conf", []byte(lldpd), 0o644),
		os.WriteFile(host.PlatformFile, []byte("lab\n"), 0o644))
}

// ownedByNetworkd changes the owner of a folder to the user that systemd-networkd becomes, where there is one.
func ownedByNetworkd(folder string) error {
	u, err := user.Lookup("systemd-network")
	if err != nil {
		return nil // no networkd here: apply reports it
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	return filepath.WalkDir(folder, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// In a user namespace with one user there is no user to give it to; networkd cannot run there.
		if err := os.Chown(name, uid, gid); err != nil && !errors.Is(err, syscall.EINVAL) {
			return err
		}
		return nil
	})
}

// sysctls sets what makes a namespace behave as a switch, or as a host that was just installed.
func (s holderSpec) sysctls() error {
	values := map[string]string{"ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0"}
	if s.Switch {
		values["ipv4/ip_forward"] = "1"
		// A switch answers ARP only on the port that has the address.
		values["ipv4/conf/all/arp_ignore"] = "1"
		// ICMP errors are not rate-limited: a mesh asks for thousands at once.
		values["ipv4/icmp_ratelimit"] = "0"
	}
	for name, value := range values {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}
