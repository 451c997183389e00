package check_test

import (
	"net/netip"
	"slices"
	"strings"
)

func pair() setting { return setting{recording: "roce", pair: true} }

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(list))
	for _, text := range list {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// recordedCluster are the rules that compare, on host1 as recorded and host2 with the change.
func recordedCluster() []recordedCase {
	const cluster, eth2, port = "cluster", "host2:eth2", "host2:bnxt_re1/1"
	const moved = port1 + "/gid_attrs/"
	ibPair := setting{recording: "infiniband", pair: true}
	plannedPair := setting{recording: "roce", pair: true, plan: twoHosts()}
	return []recordedCase{
		{rule: "facts-collected", on: plannedPair, subject: cluster, blindOn: "host2", unknown: func(a *archive) {
			a.head = "railwright recording 1\ntool v0.0.0\nhost other\ntime 2026-03-01T10:00:00Z"
		}},
		{rule: "mtu-equal", on: pair(), subject: cluster, fail: wired(func(n *network) { n.nic("eth2").MTU = 1500 }), failOn: eth2,
			unknown: wired(func(n *network) { n.nic("eth2").MTU = 0 }), blindOn: eth2},
		{rule: "duplicate-address", on: pair(), subject: cluster, fail: wired(func(n *network) { n.nic("eth2").Addresses = prefixes("10.64.1.3/31") }), failOn: eth2,
			unknown: noDump(addressDump), blindOn: "host2", also: "gid-roce-v2"},
		{rule: "duplicate-guid", on: pair(), subject: cluster, fail: file(hca+"/node_guid", "0200:00ff:fe01:0002"), failOn: port,
			unknown: edits(denied(hca+"/node_guid"), noVerbs()), blindOn: port},
		{rule: "firmware-equal", on: pair(), subject: cluster, fail: file(hca+"/fw_ver", "229.1.0.0"), failOn: port,
			unknown: edits(denied(hca+"/fw_ver"), noVerbs(), noTool("ethtool -i")), blindOn: port},
		{rule: "port-rate", on: pair(), subject: cluster, fail: file(port1+"/rate", "200 Gb/sec (4X HDR)"), failOn: port,
			unknown: edits(denied(port1+"/rate"), noVerbs()), blindOn: port},
		{rule: "pkey-equal", on: ibPair, subject: cluster, fail: file(mlxPort+"/pkeys/1", "0x8002"), failOn: "host2:mlx5_1/1",
			unknown: closedFolder(mlxPort + "/pkeys"), blindOn: "host2:mlx5_1/1"},
		{rule: "gid-index-equal", on: pair(), subject: cluster, failOn: eth2, blindOn: eth2,
			fail: edits(file(port1+"/gids/3", none), file(port1+"/gids/5", "0000:0000:0000:0000:0000:ffff:0a40:0203"),
				newFile(moved+"types/5", "RoCE v2"), newFile(moved+"ndevs/5", "eth2")),
			unknown: edits(closedFolder(port1+"/gids"), noVerbs())},
		{rule: "hca-count", on: pair(), subject: cluster, fail: folder("/sys/class/infiniband", "bnxt_re0"), failOn: "host2", also: "gpu-nic-numa",
			unknown: edits(closedFolder("/sys/class/infiniband"), noVerbs()), blindOn: "host2"},
		{rule: "hca-names-equal", on: pair(), subject: cluster, fail: renamed("bnxt_re0", "rocep19s0", "bnxt_re1", "rocep35s0"),
			unknown: edits(closedFolder("/sys/class/infiniband"), noVerbs()), blindOn: "host2"},
		{rule: "gpu-count", on: pair(), subject: cluster, failOn: "host2", unknown: closedFolder("/sys/bus/pci/devices"), blindOn: "host2",
			fail: unlisted("/sys/bus/pci/devices", gpuAt)},
	}
}

// renamed has other names in all questions and answers: pairs of an old one and a new one.
func renamed(names ...string) edit {
	r := strings.NewReplacer(names...)
	return func(a *archive) {
		for i, e := range a.entries {
			a.entries[i].key, a.entries[i].content = r.Replace(e.key), r.Replace(e.content)
		}
	}
}

// unlisted takes a name out of a folder.
func unlisted(path, name string) edit {
	return func(a *archive) {
		names := strings.Fields(string(a.data("list", path)))
		folder(path, slices.DeleteFunc(names, func(n string) bool { return n == name })...)(a)
	}
}

// recordedEqual are the rules about two hosts of one kind: which of two is right nobody knows, so that a difference
// is the cluster's.
func recordedEqual() []recordedCase {
	of := func(rule string, fail, unknown edit) recordedCase {
		return recordedCase{rule: rule, on: pair(), subject: "cluster", fail: fail, unknown: unknown, blindOn: "host2"}
	}
	const modules = "/sys/module/"
	vbios := pciFolder + gpuAt + "/vbios_version"
	first := pciFolder + "0000:14:00.0/vbios_version"
	memory := of("memory-equal", words("/proc/meminfo", "2113548288", "1981451520"), denied("/proc/meminfo"))
	memory.failOn = "host2"
	gpuDriver := of("gpu-driver-equal", edits(file(modules+"amdgpu/version", "6.8.5"), words("modinfo", "6.10.5", "6.8.5"), words("dkms", "6.10.5", "6.8.5")),
		gone(modules+"amdgpu/version"))
	return []recordedCase{
		gpuDriver,
		of("gpu-firmware-equal", edits(file(vbios, "113-M3000100-100"), file(first, "113-M3000100-100")), edits(gone(vbios), gone(first))),
		of("driver-equal", edits(file(modules+"bnxt_re/version", "231.0.0.0"), file(modules+"bnxt_en/version", "1.10.3-231.0.0.0"), words("modinfo", "235.1.160.0", "231.0.0.0"),
			words("ethtool -i eth1", "235.1.160.0", "231.0.0.0"), words("ethtool -i eth2", "235.1.160.0", "231.0.0.0"), words("dpkg-query", "235.1.160.0", "231.0.0.0")), edits(denied("/proc/modules"), noTool("ethtool -i"))),
		of("kernel-equal", edits(file("/proc/sys/kernel/osrelease", "6.8.0-71-generic"), words("dkms", "6.8.0-60", "6.8.0-71")), denied("/proc/sys/kernel/osrelease")),
		of("bios-equal", file("/sys/class/dmi/id/bios_version", "2.3.1"), denied("/sys/class/dmi/id/bios_version")),
		of("cpu-equal", words("/proc/cpuinfo", "8568Y+", "8480C"), denied("/proc/cpuinfo")),
		memory,
	}
}
