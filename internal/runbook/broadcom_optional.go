package runbook

import "fmt"

// sourceBuild is appendix A with its slips corrected: the cut package names, sudo, and the packaged library that a rename
// does not keep away.
func sourceBuild() Step {
	build := []string{
		"cd /root",
		"tar -xf netxtreme-peer-mem-" + nicSource + ".tar.gz",
		"make -C netxtreme-peer-mem-" + nicSource,
		"make -C netxtreme-peer-mem-" + nicSource + " install",
		"depmod -a",
		"tar -xf libbnxt_re-" + nicSource + ".tar.gz",
		"cd libbnxt_re-" + nicSource,
		"sh autogen.sh && ./configure && make && make install all",
		"grep -qxF /usr/local/lib /etc/ld.so.conf || echo /usr/local/lib >>/etc/ld.so.conf",
		"ldconfig",
		"install -m 644 bnxt_re.driver /etc/libibverbs.d/",
	}
	return Step{
		ID: "nic-source", Phase: Optional, Title: "Instead of the installer: drivers and library from source, " + nicSource,
		When: "where nic_wizard cannot be used; then nic-qos-package and nic-firmware too, and initramfs and the reboot as above",
		Commands: []Script{
			{OS: "ubuntu", Lines: append([]string{
				`apt-get install -y "linux-headers-$(uname -r)" libelf-dev libstdc++-12-dev gcc make libtool autoconf librdmacm-dev rdmacm-utils infiniband-diags ibverbs-utils perftest ethtool libibverbs-dev rdma-core strace`,
				"# the packaged library is diverted, so that an update of rdma-core does not bring it back",
				`for so in /usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav*.so; do test -e "$so" && dpkg-divert --add --rename --divert "$so.inbox" "$so"; done`,
			}, build...)},
			{OS: "rhel", Lines: append([]string{
				`dnf install -y "kernel-devel-uname-r == $(uname -r)" elfutils-libelf-devel libibverbs-devel qperf perftest infiniband-diags make gcc autoconf libtool libibverbs-utils rdma-core-devel librdmacm-utils strace`,
				"# an update of rdma-core brings the packaged library back: check after each one",
				`for so in /usr/lib64/libibverbs/libbnxt_re-rdmav*.so; do test -e "$so" && mv "$so" "$so.inbox"; done`,
			}, build...)},
		},
		Check: Check{
			Lines:  []string{"strace -f ibv_devinfo 2>&1 | grep libbnxt_re | grep -v 'No such file'", "ibv_devinfo 2>&1 | grep -c 'does not support the kernel ABI'"},
			Expect: "the library in /usr/local/lib, then 0", Rule: "provider-abi",
		},
		Undo:   "make uninstall in both folders; dpkg-divert --remove --rename of the library (on RHEL rename it back); ldconfig; initramfs",
		Reboot: true, Source: guide + ", 2.2.2, A.1, A.2, 5.1 no. 6",
	}
}

func qosPackage(s scene) Step {
	step := Step{
		ID: "nic-qos-package", Phase: Optional, Title: "Instead of the installer: the package that configures QoS at the load of the driver",
		When: "with nic-source",
		Commands: []Script{
			{OS: "ubuntu", Lines: []string{"dpkg -i /root/bcm_" + nicRelease + "/drivers_linux/bnxt_re/bnxt_re_conf/bnxt_re_conf_" + nicSource + "-1_all.deb"}},
			{OS: "rhel", Lines: []string{"rpm -Uvh /root/bcm_" + nicRelease + "/drivers_linux/bnxt_re/bnxt_re_conf/bnxt_re_conf-" + nicSource + "-1.noarch.rpm"}},
		},
		Check: Check{Lines: []string{"cat /etc/bnxt_re/bnxt_re.conf"}},
		Undo:  "dpkg -r bnxt_re_conf, or rpm -e bnxt_re_conf", Reboot: true, Source: guide + ", 2.2.2.1, 2.2.1.3",
	}
	step.Check.Expect = "the file; edit it to the plan's classes"
	if roce, ok := s.class("roce"); ok {
		step.Check.Expect = fmt.Sprintf("ENABLE_FC=1, ROCE_PRI=%d, ROCE_DSCP=%d", roce.Priority, roce.DSCP)
		if cnp, ok := s.class("cnp"); ok {
			step.Check.Expect += fmt.Sprintf(", CNP_PRI=%d, CNP_DSCP=%d", cnp.Priority, cnp.DSCP)
		}
		step.Check.Expect += "; edit the file where it differs"
	}
	return step
}

// firmwareByHand flashes each NIC with the file that is named as the card is, and stops at the first that has none.
func firmwareByHand(s scene) Step {
	return Step{
		ID: "nic-firmware", Phase: Optional, Title: "Instead of the installer: firmware by hand",
		When: "with nic-source. Never interrupt it, and never take a file that the loop does not find by itself",
		Commands: everywhere(append([]string{"("},
			append(s.eachNIC(append(matchFile(), `niccli --dev "$dev" fw --update -f "$file" --yes || exit 1`)...), ")")...)...),
		Check: Check{Lines: s.eachNIC(`niccli --dev "$dev" show -p`), Expect: "the release's firmware, in effect after the reboot", Rule: "firmware-equal"},
		Undo:  "the same with the folder of the previous release", Reboot: true, Source: guide + ", 2.2.2.2 (its example flashes the file of another part)",
	}
}

// captureOptions let the host see RoCE packets (957608-AN209, 5.1 no. 9, which also prints default_evb_modes).
func captureOptions() []option {
	return []option{{"enable_sriov", "0", false}, {"default_evb_mode", "3", true}}
}

func capture(s scene) Step {
	get, set := s.optionLines(captureOptions())
	return Step{
		ID: "capture", Phase: Optional, Title: "Prepare a capture of RoCE packets",
		When:     "to debug one host, never in production: it changes how the NIC forwards, and virtual functions are off. The host is rebooted for it, and again for capture-undo",
		Commands: everywhere(append(append([]string{"{"}, append(get, "} >/root/nic-capture.before")...), append(set, "systemctl reboot")...)...),
		Check: Check{
			Lines:  append(get, "rdma link show", "tcpdump -c 10 -i bnxt_re0 udp port 4791"),
			Expect: "enable_sriov 0 or disabled, default_evb_mode 3 or none; ten packets while a test runs. Before release 2.34 the capture is on the interface, such as eth1, instead of the RDMA device",
		},
		Undo: "capture-undo", Reboot: true, Source: guide + ", 5.1 no. 9",
	}
}

func captureUndo(s scene) Step {
	get, _ := s.optionLines(captureOptions())
	return Step{
		ID: "capture-undo", Phase: Optional, Title: "Take the capture back",
		When: "as soon as the packets are there",
		Commands: everywhere("cat /root/nic-capture.before",
			"# for each NIC and option there: niccli --dev DEVICE nvm --setoption OPTION [--scope FUNCTION] --value PREVIOUS",
			"systemctl reboot"),
		Check: Check{Lines: append([]string{"{"}, append(get, "} | diff /root/nic-capture.before - && echo same")...), Expect: "same"},
		Undo:  "none", Reboot: true, Source: guide + ", 5.1 no. 9",
	}
}
