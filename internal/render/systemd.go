package render

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const (
	serviceLimitsPath = "/etc/systemd/system.conf.d/60-railwright.conf"
	waitOnlinePath    = "/etc/systemd/system/systemd-networkd-wait-online.service.d/60-railwright.conf"
	loginLimitsPath   = "/etc/security/limits.d/60-railwright.conf"
)

const serviceLimits = `# Written by railwright; a change here is lost when it is rendered again.
# RDMA pins every page that it registers, and pinned pages count against this limit: with the default of
# 8 MiB (systemd-system.conf(5)) a service cannot register its buffers. It is read at boot, or by
# systemctl daemon-reexec.
[Manager]
DefaultLimitMEMLOCK=infinity
`

// ServiceLimits lets services pin memory without limit (systemd-system.conf(5)).
func ServiceLimits(node string) fabric.Artifact {
	return newArtifact(node, serviceLimitsPath, modePublic, []byte(serviceLimits))
}

const loginLimits = `# Written by railwright; a change here is lost when it is rendered again.
# RDMA pins every page that it registers; this is for sessions that come through PAM, such as ssh.
# The wildcard does not hold for root (limits.conf(5)), so root has its own line.
*    -    memlock    unlimited
root -    memlock    unlimited

# Each connection of a rank, and each library that it loads, is an open file, and sessions begin with 1024
# (AMD's guide to Instinct cluster networking asks for this number).
*    -    nofile    1048576
root -    nofile    1048576
`

// LoginLimits lets login sessions pin memory without limit and open as many files as a large job needs (limits.conf(5)).
func LoginLimits(node string) fabric.Artifact {
	return newArtifact(node, loginLimitsPath, modePublic, []byte(loginLimits))
}

// waitSeconds bounds the wait at boot: a rail that stays down delays what needs the network, it does not
// stop it. systemd-networkd-wait-online's own default.
const waitSeconds = 120

const waitOnlineHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
# Without this the network counts as online when the first NIC is, and jobs start with rails missing.
# The line is added to the service's own, which goes on waiting for the other interfaces: with
# --interface all unnamed ones are ignored. "routable" means carrier and an address of global scope, as
# that of a /31 is; it asks for no default route (networkctl(1)).
[Service]
ExecStart=/lib/systemd/systemd-networkd-wait-online --timeout=`

// WaitOnline makes network-online.target wait until every NIC of the fabric has carrier and its address,
// for at most two minutes (systemd-networkd-wait-online(8)). Any interface name comes out as one quoted word.
func WaitOnline(n fabric.NodeAddresses) fabric.Artifact {
	b := append(make([]byte, 0, len(waitOnlineHead)+len(n.NICs)*40), waitOnlineHead...)
	b = strconv.AppendInt(b, waitSeconds, 10)
	for _, nic := range n.NICs {
		b = append(b, " \\\n    "...)
		b = append(b, systemdQuote("--interface="+nic.NIC+":routable")...)
	}
	return newArtifact(n.Node, waitOnlinePath, modePublic, append(b, '\n'))
}

// systemdQuote writes one word of a command line (systemd.service(5)): C escapes in double quotes, with
// '%' and '$' doubled against specifiers and variables.
func systemdQuote(word string) string {
	quoted := strconv.QuoteToASCII(word)
	if strings.ContainsAny(quoted, "%$") {
		quoted = strings.NewReplacer("%", "%%", "$", "$$").Replace(quoted)
	}
	return quoted
}
