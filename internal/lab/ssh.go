package lab

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/crypto/ssh"

	"railwright.dev/railwright/internal/host"
)

// The management network of a lab: a machine from which hosts are reached over SSH, as an operator's own.
// 172.16.0.0/12 is none of the pools that examples use.
const (
	adminName  = "admin"
	adminNIC   = "mgmt0"
	sshdConfig = "/run/railwright/sshd_config"
)

func managementNet() netip.Prefix { return netip.MustParsePrefix("172.31.0.0/16") }

// withAdmin adds the management network: keys, host keys and names on every machine.
func (s Spec) withAdmin() (Spec, error) {
	for _, h := range s.Hosts {
		if h.Name == adminName {
			return s, fmt.Errorf("lab: host %q has the name of the lab's own machine", h.Name)
		}
	}
	user, authorized, err := newKey()
	if err != nil {
		return s, err
	}
	hostKey, known, err := newKey()
	if err != nil {
		return s, err
	}
	var names, knownHosts strings.Builder
	for i, h := range s.Hosts {
		address := managementAddress(i + 1)
		fmt.Fprintf(&names, "%s %s\n", address.Addr(), h.Name)
		fmt.Fprintf(&knownHosts, "%s,%s %s\n", h.Name, address.Addr(), known)
	}
	s.Admin, s.Files = true, map[string][]fileSpec{
		adminName: {
			{"/etc/hosts", 0o644, []byte(names.String())},
			{"/etc/ssh/lab_key", 0o600, user},
			{"/etc/ssh/ssh_config", 0o644, []byte("IdentityFile /etc/ssh/lab_key\n")},
			{"/etc/ssh/ssh_known_hosts", 0o644, []byte(knownHosts.String())},
		},
	}
	for _, h := range s.Hosts {
		s.Files[h.Name] = []fileSpec{
			{"/run/railwright/ssh_host_key", 0o600, hostKey},
			{"/run/railwright/authorized_keys", 0o600, []byte(authorized + "\n")},
			{sshdConfig, 0o644, []byte(sshdText)},
			{"/run/sshd/.keep", 0o644, nil},
		}
	}
	return s, nil
}

// sshdText returns a complete configuration of sshd: of the machine's own configuration, keys and accounts it uses nothing
// but root's shell. MaxStartups is raised, because all logins of a test come at once. The program that is copied to a host
// lies in the host's own /run: /tmp is the machine's, where labs would see each other's.
const sshdText = `Port 22
HostKey /run/railwright/ssh_host_key
AuthorizedKeysFile /run/railwright/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile /run/railwright/sshd.pid
MaxStartups 1000
SetEnv XDG_RUNTIME_DIR=/run/railwright
`

// newKey makes a key pair: the private one as OpenSSH keeps it, the public one as a line.
func newKey() (private []byte, public string, err error) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, "", err
	}
	block, err := ssh.MarshalPrivateKey(priv, "railwright lab")
	if err != nil {
		return nil, "", err
	}
	line, err := ssh.NewPublicKey(pub)
	if err != nil {
		return nil, "", err
	}
	return pem.EncodeToMemory(block), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line))), nil
}

// managementAddress is the i-th address of the management network; 0 is the admin's.
func managementAddress(i int) netip.Prefix {
	a := managementNet().Addr().As4()
	n := i + 1
	a[2], a[3] = byte(n>>8), byte(n)
	return netip.PrefixFrom(netip.AddrFrom4(a), managementNet().Bits())
}

// wireAdmin lays a cable from the admin to every host, all in one bridge.
func (s Spec) wireAdmin(open networks) error {
	admin := open[adminName]
	if err := errors.Join(admin.AddBridge(adminNIC), admin.SetUp(adminNIC, true), admin.AddAddress(adminNIC, managementAddress(0))); err != nil {
		return err
	}
	for i, h := range s.Hosts {
		port := fmt.Sprintf("m%d", i+1)
		if err := admin.AddCable(port, open[h.Name].Network, adminNIC); err != nil {
			return err
		}
		if err := errors.Join(
			admin.SetMaster(port, adminNIC), admin.SetUp(port, true),
			open[h.Name].SetUp(adminNIC, true), open[h.Name].AddAddress(adminNIC, managementAddress(i+1)),
		); err != nil {
			return err
		}
	}
	return nil
}

// StartSSH runs the real sshd on every host.
func (l *Lab) StartSSH(ctx context.Context) error {
	hosts, err := l.Hosts()
	if err != nil {
		return err
	}
	failed := make([]error, len(hosts))
	order := make([]int, len(hosts))
	for i := range order {
		order[i] = i
	}
	host.Each(order, len(hosts), func(i int) {
		_, failed[i] = host.Output(ctx, hosts[i], host.Command{Argv: []string{"/usr/sbin/sshd", "-f", sshdConfig}})
	})
	return errors.Join(failed...)
}
