package nic

import (
	_ "embed" // the script
	"fmt"
)

//go:embed bnxt.sh
var bnxtScript string

// broadcom is Thor2 and its kin with niccli: Broadcom 957608-AN209, 2.2.1.3, 2.2.3 and 2.5; the words of niccli are those of
// Broadcom's bnxt_setupcc.sh 236.1.155.0.
func broadcom() Vendor {
	return Vendor{
		ID: "broadcom", Title: "Broadcom NICs (bnxt_en, bnxt_re)", Drivers: []string{"bnxt_en"}, GIDIndex: 3,
		script: bnxtScript,
		files:  func(s Settings) []File { return []File{bnxtConf(s)} },
		omits: func(Settings) []string {
			return []string{"stored options (NVM): run once: " + ScriptPath + " options"}
		},
	}
}

// bnxtUtility is dcb of iproute2, by which the driver's own script sets the NIC (bnxt_setupcc.sh -u: 1 bnxtqos,
// 2 lldptool, 3 niccli, 4 dcb), and what the package of Broadcom has.
const bnxtUtility = 4

// bnxtConf is what Broadcom's driver package reads when a NIC appears. It has no comments: it is byte for byte what the
// package installs where the intent is the default.
func bnxtConf(s Settings) File {
	roce, cnp := class(s.Traffic, "roce"), class(s.Traffic, "cnp")
	mode := bit(roce.Lossless) + 2*bit(roce.ECN != nil) // 1 PFC, 2 congestion control, 3 both (bnxt_setupcc.sh -m)
	f := File{Path: "/etc/bnxt_re/bnxt_re.conf", Mode: 0o644, Text: fmt.Appendf(nil,
		"ENABLE_FC=%d\nFC_MODE=%d\nROCE_PRI=%d\nROCE_DSCP=%d\nCNP_PRI=%d\nCNP_DSCP=%d\nROCE_BW=%d\nUTILITY=%d\n",
		bit(mode > 0), max(mode, 1), roce.Priority, roce.DSCP, cnp.Priority, cnp.DSCP, s.Traffic.Share, bnxtUtility)}
	f.Omits = []string{"it takes effect after a restart of the host (Broadcom 957608-AN209, 2.2.2.1), if Broadcom's package bnxt_re_conf is installed"}
	return f
}
