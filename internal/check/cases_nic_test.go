package check

import (
	"railwright.dev/railwright/internal/fabric"
)

const onNIC3 = "host1:eth3"

func onQoS(change func(*fabric.QoS)) func(*world) {
	return func(w *world) {
		if eth3(w).QoS == nil {
			eth3(w).QoS = &fabric.QoS{}
		}
		change(eth3(w).QoS)
	}
}

func onTraffic(change func(*fabric.Traffic)) func(*world) {
	return func(w *world) { change(w.plan.Traffic) }
}

// noQoS is a host without the tools of its NICs.
func noQoS(w *world) {
	for i := range w.host1().NICs {
		w.host1().NICs[i].QoS, w.host1().NICs[i].Options = nil, nil
	}
	w.host1().Missing = append(w.host1().Missing,
		fabric.Missing{What: "nics.qos", Source: "niccli", Reason: "executable file not found in $PATH"},
		fabric.Missing{What: "nics.options", Source: "niccli", Reason: "executable file not found in $PATH"})
}

func noTraffic(w *world) { w.plan.Traffic = nil }

// lossy is a plan without PFC.
func lossy(w *world) {
	roce := &w.plan.Traffic.Classes[1]
	roce.Lossless = false
	for _, f := range w.nodes {
		f.NICFile["FC_MODE"] = "2"
	}
}

// unmarked is a plan without ECN.
func unmarked(w *world) {
	w.plan.Traffic.Classes[1].ECN = nil
	for _, f := range w.nodes {
		f.NICFile["FC_MODE"] = "1"
	}
}

// mlx makes every NIC of host1 a ConnectX-7.
func mlx(w *world) {
	for i := range w.host1().NICs {
		if n := &w.host1().NICs[i]; n.Driver == "bnxt_en" {
			n.Driver, n.Options = "mlx5_core", map[string]string{"ROCE_CC_PRIO_MASK_P1": "255", "LLDP_NB_DCBX_P1": "False(0)", "LLDP_NB_RX_MODE_P1": "OFF(0)", "LLDP_NB_TX_MODE_P1": "OFF(0)"}
			n.QoS.DCBX, n.QoS.Sources = "host", []string{"mlnx_qos"}
		}
	}
	w.host1().NICFile = nil
}

// unset is the state that Broadcom's driver leaves where the firmware keeps the classes from it.
func unset(q *fabric.QoS) {
	*q = fabric.QoS{Trust: "pcp", PFC: &[]int{}, Queues: make([]int, 8), Schedulers: []fabric.Scheduler{{Algorithm: "strict", Percent: ref(0)}}, Sources: []string{"niccli"}}
}

func onOption(name, value string) func(*world) {
	return func(w *world) {
		if value == "" {
			delete(eth3(w).Options, name)
			return
		}
		eth3(w).Options[name] = value
	}
}

func nicClassCases() []oneCase {
	pfc := func(list ...int) func(*world) {
		return onQoS(func(q *fabric.QoS) { l := append([]int{}, list...); q.PFC = &l })
	}
	noFile := func(w *world) { w.host1().NICFile = nil; w.missing("nic_file") }
	allMap := func(w *world) { // 26 is not among the values that were read
		mlx(w)
		eth3(w).QoS.DSCP = map[int]int{48: 7}
	}
	free := func(change func(*world)) func(*world) { return both(noPlan, change) }
	return []oneCase{
		{"nic-classes", "as planned", onNIC3, isPass, "", asPlanned},
		{"nic-classes", "by VLAN priority", onNIC3, isFail, "does not look at DSCP: RoCE without a VLAN tag is in priority 0", onQoS(func(q *fabric.QoS) { q.Trust = "pcp" })},
		{"nic-classes", "nothing set up, and why", onNIC3, isFail, "Fail to setets rc:-22", both(onQoS(unset), onOption("dcbx_mode", ""), logged("infiniband bnxt_re2: Fail to setets rc:-22"))},
		{"nic-classes", "RoCE in another priority", onNIC3, isFail, "has DSCP 26, RoCE, in priority 4, the plan in 3", onQoS(func(q *fabric.QoS) { q.DSCP[26] = 4 })},
		{"nic-classes", "RoCE not mapped", onNIC3, isFail, "has DSCP 26, RoCE, in priority 0", onQoS(func(q *fabric.QoS) { delete(q.DSCP, 26) })},
		{"nic-classes", "RoCE not in a table of all values", onNIC3, isUnknown, "priorities of DSCP values of host1:eth3 was not read: `mlnx_qos -i eth3` tells it", allMap},
		{"nic-classes", "CNPs with other traffic", onNIC3, isFail, "congestion notifications, in priority 6, the plan in 7", onQoS(func(q *fabric.QoS) { q.DSCP[48] = 6 })},
		{"nic-classes", "CNPs that nothing sends", onNIC3, isPass, "", both(unmarked, onQoS(func(q *fabric.QoS) { q.DSCP[48] = 6 }))},
		{"nic-classes", "trust not read", onNIC3, isUnknown, "what packets are classified by of host1:eth3 was not read", onQoS(func(q *fabric.QoS) { q.Trust = "" })},
		{"nic-classes", "no tool on the host", "host1", isUnknown, "`niccli -i 10:03.0 qos --ets --show` tells it: executable file not found in $PATH (niccli)", func(w *world) { noQoS(w); nicOf(w.host1(), "eth1").PCI = "0000:10:03.0" }},
		{"nic-classes", "no classes planned", "host1", isNA, "the cluster file has no traffic classes", noTraffic},
		{"nic-classes", "lab", "host1", isNA, "no hardware", inLab},

		{"nic-pfc", "as planned", onNIC3, isPass, "", asPlanned},
		{"nic-pfc", "none", onNIC3, isFail, "has PFC on no priority, RoCE is in priority 3: it is dropped where a queue is full", pfc()},
		{"nic-pfc", "priority 0 is a priority", onNIC3, isFail, "has PFC on priority 0, RoCE is in priority 3", pfc(0)},
		{"nic-pfc", "on another", onNIC3, isFail, "has PFC on priority 4, RoCE is in priority 3", pfc(4)},
		{"nic-pfc", "on that of CNPs too", onNIC3, isFail, "has PFC on priority 7 too, that of congestion notifications", pfc(3, 7)},
		{"nic-pfc", "on others too", onNIC3, isFail, "has PFC on priorities 3, 5, the plan on priority 3", pfc(3, 5)},
		{"nic-pfc", "lossy as planned", onNIC3, isPass, "", both(lossy, pfc())},
		{"nic-pfc", "lossy planned", onNIC3, isFail, "has PFC on priority 3, the plan on no priority", lossy},
		{"nic-pfc", "not read", onNIC3, isUnknown, "on which priorities PFC is of host1:eth3 was not read", onQoS(func(q *fabric.QoS) { q.PFC = nil })},
		{"nic-pfc", "no tool on the host", "host1", isUnknown, "executable file not found", noQoS},
		{"nic-pfc", "no classes planned", "host1", isNA, "no traffic classes", noTraffic},
		{"nic-pfc", "no plan", onNIC3, isPass, "", noPlan},
		{"nic-pfc", "no plan, RoCE elsewhere", onNIC3, isFail, "sends RoCE in priority 4 and has PFC on priority 3", free(onQoS(func(q *fabric.QoS) { q.DSCP[26] = 4 }))},
		{"nic-pfc", "no plan, CNPs in the priority of RoCE", onNIC3, isFail, "has CNPs in priority 3, with RoCE and with PFC", free(onQoS(func(q *fabric.QoS) { q.DSCP[48] = 3 }))},
		{"nic-pfc", "no plan, no PFC", onNIC3, isUnknown, "without a cluster file it is unknown whether its RoCE is to be lossless", free(pfc())},
		{"nic-pfc", "no plan, the application marks", onNIC3, isNA, "sets neither DSCP nor priority of RoCE", free(onQoS(func(q *fabric.QoS) { q.RoCE = &fabric.Marking{} }))},
		{"nic-pfc", "no plan, marking not read", onNIC3, isUnknown, "with what RoCE leaves of host1:eth3 was not read", free(both(mlx, onQoS(func(q *fabric.QoS) { q.RoCE = nil })))},
		{"nic-pfc", "no plan, by the file of the driver", onNIC3, isPass, "", free(onQoS(func(q *fabric.QoS) { q.RoCE = nil }))},

		{"nic-queues", "as planned", onNIC3, isPass, "", asPlanned},
		{"nic-queues", "one queue", onNIC3, isFail, "has RoCE (priority 3) and congestion notifications (7) in one queue, 1", onQoS(func(q *fabric.QoS) { q.Queues[7] = 1 })},
		{"nic-queues", "with other traffic", onNIC3, isFail, "in queue 0, with priority 0", onQoS(func(q *fabric.QoS) { q.Queues[3] = 0 })},
		{"nic-queues", "CNPs by shares", onNIC3, isFail, "schedules congestion notifications (queue 2) by ets, not strictly", onQoS(func(q *fabric.QoS) { q.Schedulers[2] = fabric.Scheduler{Algorithm: "ets", Percent: ref(0)} })},
		{"nic-queues", "a smaller share", onNIC3, isFail, "gives RoCE (queue 1) 30 % of the bandwidth beside other traffic, the plan 50 %", onQoS(func(q *fabric.QoS) { q.Schedulers[0].Percent, q.Schedulers[1].Percent = ref(70), ref(30) })},
		{"nic-queues", "a larger share", onNIC3, isPass, "", onQoS(func(q *fabric.QoS) { q.Schedulers[0].Percent, q.Schedulers[1].Percent = ref(1), ref(99) })},
		{"nic-queues", "no share planned", onNIC3, isPass, "", both(onTraffic(func(t *fabric.Traffic) { t.Share = 0 }), onQoS(func(q *fabric.QoS) { q.Schedulers[0].Percent, q.Schedulers[1].Percent = ref(70), ref(30) }))},
		{"nic-queues", "shares of 90 %", onNIC3, isFail, "has shares that sum up to 90 %", onQoS(func(q *fabric.QoS) { q.Schedulers[0].Percent = ref(40) })},
		{"nic-queues", "the vendor's rule", onNIC3, isFail, "by the vendor's own rule", onQoS(func(q *fabric.QoS) { q.Schedulers[1] = fabric.Scheduler{Algorithm: "vendor"} })},
		{"nic-queues", "not read", onNIC3, isUnknown, "traffic classes of host1:eth3 was not read", onQoS(func(q *fabric.QoS) { q.Queues = nil })},
		{"nic-queues", "a scheduler not read", onNIC3, isUnknown, "schedulers of traffic classes of host1:eth3 was not read", onQoS(func(q *fabric.QoS) { q.Schedulers = q.Schedulers[:2] })},
		{"nic-queues", "no plan", "host1", isNA, "needs a cluster file", noPlan},

		{"nic-marking", "as planned", onNIC3, isPass, "", asPlanned},
		{"nic-marking", "another DSCP", onNIC3, isFail, "sends RoCE with DSCP 24, the plan says 26", onQoS(func(q *fabric.QoS) { q.RoCE.DSCP = ref(24) })},
		{"nic-marking", "none", onNIC3, isFail, "sets no DSCP: RoCE leaves with what each application asks for", onQoS(func(q *fabric.QoS) { q.RoCE = &fabric.Marking{} })},
		{"nic-marking", "CNPs as best effort", onNIC3, isFail, "sends congestion notifications with DSCP 0, the plan says 48", onQoS(func(q *fabric.QoS) { q.CNP.DSCP = ref(0) })},
		{"nic-marking", "CNPs in another priority", onNIC3, isFail, "sends congestion notifications in priority 6, the plan says 7", onQoS(func(q *fabric.QoS) { q.CNP.Priority = ref(6) })},
		{"nic-marking", "by the file of the driver", onNIC3, isPass, "", onQoS(func(q *fabric.QoS) { q.RoCE, q.CNP = nil, nil })},
		{"nic-marking", "hidden by the driver", onNIC3, isUnknown, "with what RoCE leaves of host1:eth3 was not read", both(onQoS(func(q *fabric.QoS) { q.RoCE, q.CNP = nil, nil }), func(w *world) {
			w.host1().Missing = append(w.host1().Missing, fabric.Missing{What: "nics.qos eth3", Source: "/sys/kernel/debug/bnxt_re", Reason: "permission denied"})
		})},
		{"nic-marking", "neither driver nor file", onNIC3, isUnknown, "with what RoCE leaves of host1:eth3 was not read", both(noFile, onQoS(func(q *fabric.QoS) { q.RoCE = nil }))},
		{"nic-marking", "CNPs not read", onNIC3, isUnknown, "with what congestion notifications leave of host1:eth3 was not read", both(mlx, onQoS(func(q *fabric.QoS) { q.CNP = nil }))},
		{"nic-marking", "no ECN planned", onNIC3, isPass, "", both(unmarked, onQoS(func(q *fabric.QoS) { q.CNP = nil }))},
		{"nic-marking", "no plan", "host1", isNA, "needs a cluster file", noPlan},

		{"nic-ecn", "as planned", onNIC3, isPass, "", asPlanned},
		{"nic-ecn", "on another priority", onNIC3, isFail, "does not react to marked packets of priority 3", onQoS(func(q *fabric.QoS) { q.ECN = &[]int{5} })},
		{"nic-ecn", "off", onNIC3, isFail, "does not react", onQoS(func(q *fabric.QoS) { q.ECN = &[]int{} })},
		{"nic-ecn", "by a stored mask", onNIC3, isPass, "", both(mlx, onQoS(func(q *fabric.QoS) { q.ECN = nil }))},
		{"nic-ecn", "by a stored mask of another priority", onNIC3, isFail, "does not react", both(mlx, onQoS(func(q *fabric.QoS) { q.ECN = nil }), onOption("ROCE_CC_PRIO_MASK_P1", "0x10"))},
		{"nic-ecn", "by the file of the driver", onNIC3, isPass, "", onQoS(func(q *fabric.QoS) { q.ECN = nil })},
		{"nic-ecn", "off by the file of the driver", onNIC3, isFail, "is set up without congestion control", func(w *world) { eth3(w).QoS.ECN = nil; w.host1().NICFile["FC_MODE"] = "1" }},
		{"nic-ecn", "not read", onNIC3, isUnknown, "whether it reacts to marked packets of host1:eth3 was not read", both(mlx, onQoS(func(q *fabric.QoS) { q.ECN = nil }), onOption("ROCE_CC_PRIO_MASK_P1", ""))},
		{"nic-ecn", "nothing marked", "host1", isNA, "mark no packets", unmarked},

		{"nic-pause", "off", onNIC3, isPass, "", asPlanned},
		{"nic-pause", "on", onNIC3, isFail, "has global pause on, which stops every class", onQoS(func(q *fabric.QoS) { q.Pause = ref(true) })},
		{"nic-pause", "not read", onNIC3, isUnknown, "`ethtool -a eth3` tells it", onQoS(func(q *fabric.QoS) { q.Pause = nil })},
		{"nic-pause", "lossy", "host1", isNA, "lossy", lossy},

		{"nic-qos-equal", "all", "cluster", isPass, "", asPlanned},
		{"nic-qos-equal", "one NIC of 16", onNIC3, isFail, "15 of 16 NICs of kind bnxt_en 400000 Mb/s: queues have 0 0 0 1 0 0 0 2", free(onQoS(func(q *fabric.QoS) { q.Queues[1] = 1 }))},
		{"nic-qos-equal", "silent where the plan shows it", onNIC3, isUnknown, "nic-pfc fails on host1:eth3", pfc(4)},
		{"nic-qos-equal", "one part not read", onNIC3, isUnknown, "PFC was not read", onQoS(func(q *fabric.QoS) { q.PFC = nil })},
		{"nic-qos-equal", "global pause alone of all", onNIC3, isUnknown, "PFC was not read", free(func(w *world) {
			for range w.nodes {
				for i := range w.host1().NICs {
					w.host1().NICs[i].QoS = &fabric.QoS{Pause: ref(false), Sources: []string{"ethtool -a"}}
				}
				w.nodes[0], w.nodes[1] = w.nodes[1], w.nodes[0]
			}
		})},
		{"nic-qos-equal", "another kind of NIC", "cluster", isPass, "", free(func(w *world) { mlx(w); w.host1().NICs[3].QoS.Sources = nil })},
		{"nic-qos-equal", "no tool on any host", "cluster", isUnknown, "of none of 16 NICs", func(w *world) {
			noQoS(w)
			w.nodes[0], w.nodes[1] = w.nodes[1], w.nodes[0]
			noQoS(w)
		}},
		{"nic-qos-equal", "InfiniBand", "cluster", isNA, "infiniband", infiniBand},
	}
}

func nicStoredCases() []oneCase {
	otherDriver := func(w *world) { eth3(w).Driver = "ionic" }
	noDriver := func(w *world) { eth3(w).Driver = "" }
	noDrivers := func(w *world) {
		for i := range w.host1().NICs {
			w.host1().NICs[i].Driver = ""
		}
	}
	noFile := func(w *world) {
		w.host1().NICFile = nil
		w.host1().Missing = append(w.host1().Missing, fabric.Missing{What: "nic_file", Source: "/etc/bnxt_re/bnxt_re.conf", Reason: "no such file or directory", Absent: true})
	}
	file := func(name, value string) func(*world) {
		return func(w *world) { w.host1().NICFile[name] = value }
	}
	return []oneCase{
		{"nic-dcbx", "off", onNIC3, isPass, "", asPlanned},
		{"nic-dcbx", "on", onNIC3, isFail, "negotiates traffic classes with the switch (dcbx_mode is Enabled (IEEE only))", onOption("dcbx_mode", "Enabled (IEEE only)")},
		{"nic-dcbx", "LLDP on", onNIC3, isFail, "lldp_nearest_bridge is Enabled", onOption("lldp_nearest_bridge", "Enabled")},
		{"nic-dcbx", "one option not read", onNIC3, isUnknown, "nvm --getoption lldp_nearest_non_tpmr_bridge --scope 0` tells it", onOption("lldp_nearest_non_tpmr_bridge", "")},
		{"nic-dcbx", "a word that is unknown", onNIC3, isUnknown, "were not all read", onOption("dcbx_mode", "perhaps")},
		{"nic-dcbx", "ConnectX by the firmware", onNIC3, isFail, "DCBX by the firmware", both(mlx, onQoS(func(q *fabric.QoS) { q.DCBX = "firmware" }))},
		{"nic-dcbx", "ConnectX by the host", onNIC3, isPass, "", both(mlx, func(w *world) { eth3(w).Options = nil })},
		{"nic-dcbx", "ConnectX, not read", onNIC3, isUnknown, "mlxconfig -d", both(mlx, func(w *world) { eth3(w).Options = nil; eth3(w).QoS.DCBX = "" })},
		{"nic-dcbx", "driver not read", onNIC3, isUnknown, "driver of host1:eth3 was not read", noDriver},
		{"nic-dcbx", "a NIC without such an option", onNIC3, isNA, "ionic", otherDriver},

		{"nic-profile", "as needed", onNIC3, isPass, "", asPlanned},
		{"nic-profile", "RDMA off", onNIC3, isFail, "support_rdma is False", onOption("support_rdma", "False")},
		{"nic-profile", "default profile", onNIC3, isFail, "performance_profile is Default", onOption("performance_profile", "Default")},
		{"nic-profile", "strict ordering", onNIC3, isFail, "pcie_relaxed_ordering is disabled", onOption("pcie_relaxed_ordering", "disabled")},
		{"nic-profile", "not read", onNIC3, isUnknown, "nvm --getoption performance_profile` tells it", onOption("performance_profile", "")},
		{"nic-profile", "no tool", onNIC3, isUnknown, "executable file not found", noQoS},
		{"nic-profile", "driver not read", onNIC3, isUnknown, "driver of host1:eth3 was not read", noDriver},
		{"nic-profile", "a NIC without such an option", onNIC3, isNA, "ionic", otherDriver},

		{"nic-file", "as planned and in effect", onNIC3, isPass, "", asPlanned},
		{"nic-file", "not as planned", "host1", isFail, "has CNP_DSCP=46, the plan 48", file("CNP_DSCP", "46")},
		{"nic-file", "CNPs in the lossless priority", "host1", isFail, "has CNP_PRI=3, the plan 7", file("CNP_PRI", "3")},
		{"nic-file", "PFC alone", "host1", isFail, "has FC_MODE=1, the plan 3", file("FC_MODE", "1")},
		{"nic-file", "not in effect", onNIC3, isFail, "says that DSCP 26 (RoCE) is in priority 4, which is in priority 3 on eth3", both(noPlan, file("ROCE_PRI", "4"))},
		{"nic-file", "CNPs in the lossless priority, without a plan", "host1", isFail, "has ROCE_PRI=3 and CNP_PRI=3", both(noPlan, file("CNP_PRI", "3"))},
		{"nic-file", "CNPs with the DSCP of RoCE, without a plan", "host1", isFail, "has ROCE_DSCP=26 and CNP_DSCP=26", both(noPlan, file("CNP_DSCP", "26"))},
		{"nic-file", "CNPs in the lossless priority, drivers not read", "host1", isFail, "has ROCE_PRI=3 and CNP_PRI=3", both(both(noPlan, noDrivers), file("CNP_PRI", "3"))},
		{"nic-file", "without a plan", onNIC3, isPass, "", noPlan},
		{"nic-file", "not read", "host1", isUnknown, "permission denied", func(w *world) { w.host1().NICFile = nil; w.missing("nic_file") }},
		{"nic-file", "in effect not read", onNIC3, isUnknown, "what is in effect on host1:eth3 was not read", noQoS},
		{"nic-file", "driver not read", onNIC3, isUnknown, "driver of host1:eth3 was not read", noDriver},
		{"nic-file", "none on a planned host", "host1", isUnknown, "has no /etc/bnxt_re/bnxt_re.conf: from what", noFile},
		{"nic-file", "none on the host", "host1", isNA, "has no /etc/bnxt_re/bnxt_re.conf", both(noPlan, noFile)},
		{"nic-file", "other NICs", "host1", isNA, "no NIC of the fabric of host1 is set up from", mlx},
	}
}
