package nic

import (
	_ "embed" // the frame of the scripts
	"fmt"
	"strings"
)

// Where the script and its unit are; SELinux labels files in sbin as programs of the system. The drop-in of the target starts
// the unit at boot, as systemctl enable would, with a file that can be compared and taken back (systemd.unit(5)).
const (
	ScriptPath = "/usr/local/sbin/railwright-nic-qos"
	UnitName   = "railwright-nic-qos.service"
	unitPath   = "/etc/systemd/system/" + UnitName
	wantedPath = "/etc/systemd/system/multi-user.target.d/60-railwright-nic-qos.conf"
)

//go:embed frame.sh
var frame string

// scriptFile returns the script: the intent as shell variables, the vendor's functions, and the frame that runs them.
func (v Vendor) scriptFile(s Settings) File {
	roce, cnp := class(s.Traffic, "roce"), class(s.Traffic, "cnp")
	const head = 2 << 10 // bytes, some more than it has
	b := make([]byte, 0, head+len(v.script)+len(frame))
	b = fmt.Appendf(b, `#!/bin/sh
# Written by railwright from the plan; a change here is lost when it is rendered again.
# Sets %s to the traffic classes of the plan, and reads back what it set:
#   railwright-nic-qos set            what does not survive a restart; %s runs this at every start
#   railwright-nic-qos check          says what differs, changes nothing
#   railwright-nic-qos options        stored options, which take effect after a restart of the host: run it once
#   railwright-nic-qos check-options  says what of them differs, changes nothing
# Exit status: 0 as planned, 1 something differs, failed or could not be read, 64 wrong usage.
set -u
LC_ALL=C
export LC_ALL
nics='%s'
roce_dscp=%d roce_priority=%d cnp_dscp=%d cnp_priority=%d
lossless=%d # PFC for RoCE
ecn=%d      # congestion control by marked packets (DCQCN)
share=%d   # percent of the bandwidth of RoCE beside other traffic

`, v.Title, UnitName, strings.Join(s.NICs, " "), roce.DSCP, roce.Priority, cnp.DSCP, cnp.Priority,
		bit(roce.Lossless), bit(roce.ECN != nil), s.Traffic.Share)
	b = append(append(b, v.script...), frame...)
	f := File{Path: ScriptPath, Mode: 0o755, Text: b}
	if v.omits != nil {
		f.Omits = v.omits(s)
	}
	return f
}

// unitFile returns the unit that runs the script once the interfaces are there, and before what starts jobs: an earlier one sends its
// packets in the wrong class.
func (v Vendor) unitFile(s Settings) File {
	var devices []string
	for _, nic := range s.NICs {
		devices = append(devices, "sys-subsystem-net-devices-"+strings.ReplaceAll(nic, "-", `\x2d`)+".device") // systemd.unit(5): '-' is '/'

	}
	return File{Path: unitPath, Mode: 0o644, Text: fmt.Appendf(nil, `# Written by railwright; a change here is lost when it is rendered again.
# These settings are gone after every start of the host. 60-railwright-nic-qos.conf of multi-user.target starts this unit:
# there is nothing to enable. It fails if a setting is not in effect afterwards: systemctl status railwright-nic-qos.
# After a driver was loaded again: systemctl restart railwright-nic-qos.
[Unit]
Description=Traffic classes of RoCE on %[1]s
Wants=%[3]s
After=%[3]s
Before=kubelet.service slurmd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=%[2]s set
TimeoutStartSec=600
`, v.Title, ScriptPath, strings.Join(devices, " "))}
}

func wantedFile() File {
	return File{Path: wantedPath, Mode: 0o644, Text: []byte(`# Written by railwright; a change here is lost when it is rendered again.
# Starts ` + UnitName + ` at boot, as systemctl enable would.
[Unit]
Wants=` + UnitName + "\n")}
}
