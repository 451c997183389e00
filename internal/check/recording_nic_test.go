package check_test

// noAccess is how one question alone is not answered: a program that is not there is asked no other.
const noAccess = "no access to the device"

func recordedNICs() []recordedCase {
	const (
		eth2 = "host1:eth2"
		card = "niccli -i 23:00.0 "
		qos  = card + "qos --ets --show"
		cc   = "/sys/kernel/config/bnxt_re/bnxt_re1/ports/1/cc"
		conf = "/etc/bnxt_re/bnxt_re.conf"
	)
	locked := func(option string) edit { return ends(card+"nvm --getoption "+option, 1, noAccess) }
	of := func(rule string, fail, unknown edit) recordedCase {
		return recordedCase{rule: rule, on: planned(), subject: eth2, fail: fail, unknown: unknown}
	}
	return []recordedCase{
		of("nic-dcbx", words(card+"nvm --getoption dcbx_mode --scope 0", "Disabled", "Enabled"), locked("dcbx_mode --scope 0")),
		of("nic-classes", words(qos, "DSCP: 26", "DSCP: 24"), ends(qos, 1, noAccess)),
		of("nic-pfc", words(qos, "PFC enabled: 3", "PFC enabled: none"), ends(qos, 1, noAccess)),
		of("nic-queues", words(qos, "7:2", "7:1"), words(qos, " 7:2", "")),
		of("nic-pause", words("ethtool -a eth2", "RX:\t\toff", "RX:\t\ton"), ends("ethtool -a eth2", 1, noAccess)),
		of("nic-marking", edits(folder(cc, "roce_dscp"), newFile(cc+"/roce_dscp", "24")), words(conf, "ROCE_DSCP=26", "ROCE_DSCP=x")),
		of("nic-profile", words(card+"nvm --getoption performance_profile", "RoCE", "Default"), locked("performance_profile")),
		of("nic-ecn", words(conf, "FC_MODE=3", "FC_MODE=1"), words(conf, "FC_MODE=3", "FC_MODE=x")),
		{rule: "nic-file", on: planned(), subject: eth2, failOn: "host1", blindOn: "host1", fail: words(conf, "CNP_DSCP=48", "CNP_DSCP=46"), unknown: denied(conf)},
		{rule: "nic-qos-equal", on: free(), subject: "cluster", fail: words(qos, "1:0", "1:1"), unknown: ends(qos, 1, noAccess), blindOn: eth2},
	}
}
