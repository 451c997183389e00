package check

import "railwright.dev/railwright/internal/fabric"

// The conditions by what a host is for, as its facts show it.

func onBareMetal() Condition {
	return Condition{
		ID: "bare-metal", Doc: "not in a virtual machine, whose hypervisor owns the setting, and not on a host of virtual machines, which needs the opposite",
		judge: func(s scene) (fabric.Status, string) {
			return s.role(func(d *Digest) (fabric.Status, string) {
				if d.Role == fabric.HostGuest {
					return fabric.NotApplicable, d.Node + hypervisorOwns
				}
				return unless(d.Role == fabric.HostOfVMs, d.Node+" hosts virtual machines, which need other settings ("+d.RoleBy+")")
			})
		},
	}
}

// onHost is for what a machine has or sets itself, whether it keeps its devices or gives them away.
func onHost() Condition {
	return Condition{
		ID: "host", Doc: "not in a virtual machine, whose hypervisor owns the setting or hides the hardware",
		judge: func(s scene) (fabric.Status, string) {
			return s.each("every node is a virtual machine", func(d *Digest) (fabric.Status, string) {
				if d.Virtual == nil {
					return fabric.Unknown, d.RoleBy
				}
				return unless(*d.Virtual, d.Node+hypervisorOwns)
			})
		},
	}
}

func onVirtual() Condition {
	return Condition{
		ID: "virtual", Doc: "in virtual machines and on their hosts",
		judge: func(s scene) (fabric.Status, string) {
			return s.role(func(d *Digest) (fabric.Status, string) {
				return unless(d.Role == fabric.HostBareMetal, d.Node+" is not a virtual machine, and hosts none")
			})
		},
	}
}

func onVMHost() Condition {
	return Condition{
		ID: "vm-host", Doc: "on hosts of virtual machines: ESX, and where GPUs are bound to VFIO",
		judge: func(s scene) (fabric.Status, string) {
			return s.role(func(d *Digest) (fabric.Status, string) {
				if d.Role == fabric.HostGuest {
					return fabric.NotApplicable, d.Node + hypervisorOwns
				}
				return unless(d.Role == fabric.HostBareMetal, d.Node+" gives no device to a virtual machine ("+d.RoleBy+")")
			})
		},
	}
}

const hypervisorOwns = " is a virtual machine: the hypervisor owns this setting"

// role judges nodes by what they are for; a node of which that was not seen is unknown.
func (s scene) role(judge func(d *Digest) (fabric.Status, string)) (fabric.Status, string) {
	return s.each("no node has the role", func(d *Digest) (fabric.Status, string) {
		if d.Role == "" {
			return fabric.Unknown, d.RoleBy
		}
		return judge(d)
	})
}
