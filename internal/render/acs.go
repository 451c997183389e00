package render

import (
	_ "embed" // the script that clears ACS
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

const acsScriptPath = "/usr/local/sbin/railwright-acs" // where SELinux labels a file as a program of the system

//go:embed acs.sh
var acsScript []byte

// ACSScript clears ACS redirect above the GPUs and NICs of a bare-metal host. It refuses to on a host of virtual
// machines and in one, reads back what it wrote, and leaves its result in fabric.ACSResultFile.
func ACSScript(node string) fabric.Artifact {
	return newArtifact(node, acsScriptPath, modeProgram, acsScript)
}

const acsUnitHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
# The kernel and the firmware set ACS at every boot, so it is cleared at every boot. 60-railwright-acs.conf of
# multi-user.target starts this unit: there is nothing to enable. After a GPU or NIC was reset or replaced:
# systemctl restart railwright-acs. What it did: systemctl status railwright-acs, /run/railwright/acs.json.
[Unit]
Description=Clear PCIe ACS redirect above GPUs and NICs (railwright)
After=systemd-modules-load.service systemd-udev-trigger.service
Before=kubelet.service slurmd.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=180
ExecStart=` + acsScriptPath

// ACSUnit runs the script at boot. The script waits for the NICs by name; where interfaces have no planned names
// (InfiniBand), for as many RDMA devices as the node has NICs.
// It panics on a name that CheckNICName refuses.
func ACSUnit(transport fabric.Transport, n fabric.Node) fabric.Artifact {
	b := append(make([]byte, 0, len(acsUnitHead)+len(n.NICs)*16), acsUnitHead...)
	if transport == fabric.InfiniBand {
		b = append(b, " -n "...)
		b = strconv.AppendInt(b, int64(len(n.NICs)), 10)
	} else {
		for _, nic := range n.NICs {
			if err := CheckNICName(nic); err != nil {
				panic(err)
			}
			b = append(append(b, ' '), nic...)
		}
	}
	return newArtifact(n.Name, fabric.ACSUnitFile, modePublic, append(b, '\n'))
}

const acsWanted = `# Written by railwright; a change here is lost when it is rendered again.
# Starts railwright-acs.service at boot, as systemctl enable would, with a file that can be compared and taken back.
[Unit]
Wants=railwright-acs.service
`

// ACSWanted starts the unit at boot (systemd.unit(5): drop-ins of a target).
func ACSWanted(node string) fabric.Artifact {
	return newArtifact(node, "/etc/systemd/system/multi-user.target.d/60-railwright-acs.conf", modePublic, []byte(acsWanted))
}
