package nic

import _ "embed" // the script

//go:embed ionic.sh
var ionicScript string

// amd is Pensando Pollara with nicctl, as far as AMD's public documents go: AI NIC Pollara 400 configuration in the ROCm
// documentation (sglang-mori-distributed, 1.6) and the outputs of nicctl printed there.
func amd() Vendor {
	return Vendor{
		// A GID table without RoCE v1 has the link-local address at 0 and the IPv4 address at 1; AMD's own launch scripts
		// set NCCL_IB_GID_INDEX=1 (AMD-AGI/Primus, enable_ainic).
		ID: "amd", Title: "Pensando Pollara NICs (ionic)", Drivers: []string{"ionic"}, GIDIndex: 1, ControlClass: true,
		script: ionicScript,
		omits: func(s Settings) []string {
			omits := []string{
				"one NIC of several: nicctl names ports by UUID, which the plan does not have, so that every port of the host is set",
				"the parameters of DCQCN but the DSCP of CNPs: AMD publishes values, not what they are made from",
				"stored options: none is documented in public",
			}
			if class(s.Traffic, "roce").ECN == nil {
				omits = append(omits, "DCQCN off: no public document has the command; without ECN on the switches there are no marks to react to")
			}
			return omits
		},
	}
}
