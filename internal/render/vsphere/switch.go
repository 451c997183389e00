package vsphere

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// SubnetManager is what people do on InfiniBand switches: look at the version, and with virtual functions let the subnet manager
// give each of them a LID of its own. Names are those of the switches.
func SubnetManager(mode fabric.VMMode, names []string) fabric.Artifact {
	var b strings.Builder
	fmt.Fprintf(&b, "# InfiniBand switches\n\nWritten by railwright from the plan. Switches: %s.\n", strings.Join(names, ", "))
	b.WriteString("\nOn each, in the shell of MLNX-OS. The release has to be one that NVIDIA names together with the firmware of the NICs\n" +
		"(3.11.1004 with 28.39.1002 and 3.12.4002 are known to work); otherwise links can stay down in virtual machines:\n\n" +
		"```\nenable\nconfigure terminal\nshow version\nshow ib sm\nshow ib sm virt\n```\n")
	if mode != fabric.SRIOVToGuests {
		b.WriteString("\nWhole NICs are passed through: nothing is changed here, and virtualization of the subnet manager may be on or off.\n")
		return forPeople("/infiniband-switches.md", []byte(b.String()))
	}
	b.WriteString("\nVirtual functions need virtualization in the subnet manager: without it their ports stay down. On the switch that runs it\n" +
		"(`show ib sm` says enable), and on every standby; the restart of the subnet manager stops no traffic, but new ports wait for it:\n\n" +
		"```\nib sm virt enable\nconfiguration write\nno ib sm\nib sm\nshow ib sm virt\n```\n\nCheck: the last line is `Enabled`. Undo: `no ib sm virt`, and the restart again.\n" +
		"\nWhere the subnet manager is OpenSM on a host, in its configuration (`opensm -c FILE` writes one; usually\n`/etc/opensm/opensm.conf`):\n\n" +
		"```\nvirt_enabled 2\n```\n\n0 ignores virtual ports, 1 switches them off, 2 switches them on. Restart OpenSM after it; `ibstat` in a virtual machine then shows\nActive.\n")
	return forPeople("/infiniband-switches.md", []byte(b.String()))
}
