package diagnose

import "railwright.dev/railwright/internal/fabric"

// otherWordings were written after the lexicon and without looking at it. It understood 137 of the first 173
// of them at once; the lexicon has since learned the rest, so they measure nothing new.
var otherWordings = map[fabric.CauseID][]string{
	fabric.CauseACSRedirect: {
		"PCIe ACS not disabled on the host",
		"setpci shows ACS control 0x001d on the switch ports",
		"GPU to NIC traffic is redirected through the root complex",
		"SrcValid+ on the PLX bridge",
	},
	fabric.CauseATSDisabled: {
		"ATS missing on the passthrough NIC",
		"hypervisor hides ATS from the guest",
		"no ATS in the VM",
	},
	fabric.CauseGDRDisabled: {
		"GDRDMA does not appear in the log",
		"NCCL uses NET/IB/0 without GDRDMA",
		"nv_peer_mem failed to load",
		"lsmod shows no nvidia_peermem",
		"peer memory could not be registered",
		"GPUDirect RDMA unavailable",
		"NCCL_NET_GDR_LEVEL=0 is set",
	},
	fabric.CauseSocketFallback: {
		"transport is TCP, not RDMA",
		"NCCL chose sockets",
		"via NET/Socket/0",
		"IB devices not found in the container, NCCL went to Socket",
		"NCCL_IB_DISABLE=1",
	},
	fabric.CauseHCASubset: {
		"NCCL_IB_HCA lists four of eight adapters",
		"six NICs idle during the run",
		"only half of the adapters move bytes",
	},
	fabric.CauseHalfPortTwin: {
		"only enp1s0f1np1 is up, its twin has no IP",
		"NCCL uses one half of the QSFP port",
		"one PCIe function of the port carries everything",
	},
	fabric.CausePortRateLow: {
		"ibstatus shows 100 Gb/sec (2X HDR)",
		"link speed is 200 Gb/s, NIC can do 400",
		"port trained to HDR instead of NDR",
		"active speed below NIC rate",
	},
	fabric.CauseBondHashing: {
		"bond0 uses layer2 hashing",
		"LAG puts every QP on one port",
		"mode 4 bond, second port idle",
	},
	fabric.CausePCIeDowngraded: {
		"LnkSta: Speed 8GT/s, LnkCap 32GT/s",
		"NIC runs at PCIe 3.0 x16",
		"PCIe width x4 where x16 is possible",
		"link width downgraded",
	},
	fabric.CausePCIeDowngradedUpstream: {
		"root port above the switch runs Gen4 instead of Gen5",
		"riser link downgraded",
		"the bridge of GPU 4 to 7 trained at x8",
	},
	fabric.CauseGPUNICMisaligned: {
		"claims gave NICs of the other socket",
		"pod 2 has only one GPU with a local NIC",
		"GPU-NIC misalignment in worker 3",
		"NICs are cross NUMA",
	},
	fabric.CauseVMTopologyMissing: {
		"in the VM all GPUs and NICs hang off one root bus",
		"nvidia-smi topo -m in the guest shows PHB everywhere",
		"NCCL_TOPO_FILE not set in the VM",
	},
	fabric.CauseTopoXMLWrong: {
		"NCCL_TOPO_FILE has link_speed Gen5, read as 8 GT/s",
		"XML import failed",
		"the XML gives 2x200G where PCIe carries one",
		"NCCL warns: Attribute version of node system not found",
	},
	fabric.CauseXGMIModelUnmatched: {
		"no rome model matched",
		"RCCL uses a single XGMI ring",
		"unknown platform to RCCL",
	},
	fabric.CauseMTUMismatch: {
		"MTU differs between host and switch",
		"switch port MTU 1500",
		"path MTU 1024 instead of 4096",
		"ping -M do -s 8972 fails: message too long, mtu=1500",
		"WC error: IBV_WC_RETRY_EXC_ERR (12)",
	},
	fabric.CauseRoCELossy: {
		"no PFC on the switch ports",
		"rx_discards_phy increases",
		"packet drops under incast",
		"lossless queue not configured",
		"bandwidth collapses from 64 MiB up",
	},
	fabric.CauseQoSClassMismatch: {
		"traffic class 0 is used instead of 106",
		"the lossless priority is 3 but packets use priority 0",
		"wrong DSCP",
		"NCCL_IB_TC not set so RoCE goes to best effort",
	},
	fabric.CauseARPFlux: {
		"arp_ignore=0 with 8 NICs on the same subnet",
		"ARP replies come from the wrong interface",
		"MAC of eth2 answers for eth3",
	},
	fabric.CauseRouteMissing: {
		"missing ip rule for eth5",
		"source based routing not configured",
		"rail 2 peers not reachable",
		"default gateway only, no policy route",
	},
	fabric.CauseLinkDown: {
		"mlx5_2 port state DOWN",
		"carrier lost on eth3",
		"physical link of rail 6 is down",
		"one NIC has no link",
	},
	fabric.CauseGIDIndex: {
		"GID 0 is used, which is RoCE v1",
		"NCCL_IB_GID_INDEX=1 points to an IPv6 link-local",
		"show_gids: index differs per host",
		"remote GID :: in the log",
	},
	fabric.CausePKeyMismatch: {
		"pkey 0x7fff on one node",
		"node 2 is not in the partition",
		"limited membership in partition 0x8001",
	},
	fabric.CauseNCCLSettings: {
		"NCCL_P2P_DISABLE=1 in the job script, slow",
		"NCCL_ALGO=Tree forced",
		"environment limits NCCL to 2 channels",
		"NCCL_SHM_DISABLE=1 exported",
	},
	fabric.CauseP2PChannels: {
		"only 2 p2p channels per peer",
		"alltoall slow, all_reduce at the expected rate",
		"NCCL_MAX_P2P_NCHANNELS=1",
	},
	fabric.CauseNVLinkDegraded: {
		"NVLink 7 of GPU 2 is down",
		"nvidia-smi nvlink shows 14 of 18 active",
		"NVLink replay errors",
		"one GPU with fewer NVLinks",
	},
	fabric.CauseOversubscription: {
		"hosts in different racks are slow, same rack fine",
		"spine uplinks saturated",
		"2:1 oversubscription",
	},
	fabric.CauseGPUThrottled: {
		"SW power cap active",
		"GPU clocks drop to 1.2 GHz under load",
		"thermal slowdown on GPU 4",
		"temperature 92 C and throttling",
	},
	fabric.CauseHostMemoryInterleaving: {
		"NPS4 set in the BIOS, interleaving off",
		"DIMM interleave disabled",
	},
	fabric.CauseNICProfile: {
		"relaxed ordering disabled in firmware",
		"PCI_WR_ORDERING=0 per_mkey, relaxed ordering not used",
		"RoCE profile not set on the Thor2",
	},
	fabric.CauseFabricManager: {
		"nvidia-fabricmanager.service: masked",
		"Fabric Manager 570.86 with driver 570.148",
		"FM stopped, NVLS unavailable: fabric manager inactive",
	},
	fabric.CauseGPUDriver: {
		"nvidia-smi: No devices were found",
		"Xid 79: GPU has fallen off the bus",
		"driver/library version mismatch",
		"cuda error: no CUDA-capable device",
	},
	fabric.CauseESXiDriverUnloaded: {
		"/opt/mellanox/bin/mst status prints nothing",
		"esxcli shows nmlx5_core unloaded",
	},
	fabric.CauseSRIOVLeftOn: {
		"num_of_vfs=8 although the PF is passed through",
		"SR-IOV not turned off before passthrough",
	},
	fabric.CauseSwitchOSVersion: {
		"switch firmware MLNX-OS 3.10 predates the adapter firmware",
		"port is down in the VM until the switch OS was upgraded",
	},
	fabric.CauseEnvNotForwarded: {
		"mpirun has no -x NCCL_IB_HCA, variables stay on the first node",
		"env vars missing on the remote ranks",
		"NCCL variables not set on node 2, only on node 1",
	},
	fabric.CauseSlowNode: {
		"every test that includes gpu-17 is slow",
		"host9 is slow with all partners",
		"removing node 12 restores the bandwidth",
	},
	fabric.CauseSlowLink: {
		"one cell of the pair matrix is low",
		"the link between host1 and leaf2 has FEC errors",
		"rail 5 is slower than the other rails",
	},
	fabric.CauseMiscabled: {
		"cables of eth3 and eth4 swapped",
		"LLDP shows leaf2 where leaf1 is planned",
		"neighbour mismatch on port 7",
	},
	fabric.CauseSubnetManager: {
		"sm_lid 0",
		"port stuck in INIT",
		"OpenSM not running",
		"SM unreachable, no LID assigned",
	},
	fabric.CauseDriverABI: {
		"kernel ABI 6 not supported by libbnxt_re",
		"ibv_devices warns about ABI",
	},
	fabric.CauseDriverConflict: {
		"two OFED stacks installed",
		"modprobe: Unknown symbol in module",
	},
	fabric.CauseFirmwareDCBX: {
		"setets error -22",
		"DCBX willing in NIC firmware overrides QoS",
		"getqos shows all zero",
	},
	fabric.CauseNICDegradedInit: {
		"only 13 Gb/s although ethtool shows 200000Mb/s",
		"replugging power brings the rate back: degraded init",
	},
	fabric.CauseLibraryBuild: {
		"mixed NCCL versions on the nodes",
		"self-compiled NCCL from master",
		"sm_121 missing in the build",
	},
	fabric.CauseNetPlugin: {
		"libfabric provider not found by the OFI plugin",
		"NCCL_NET_PLUGIN=none",
		"without the gIB tuner",
	},
	fabric.CauseMPINotBuilt: {
		"16 separate tables, each with nranks 1",
		"compiled without MPI",
	},
	fabric.CauseTreeArtefact: {
		"470 GB/s over 8x50 GB/s NICs: more than the wire",
		"NVLSTree overstates the network bandwidth",
	},
	fabric.CauseNumaBalancing: {
		"numa_balancing = 1",
		"NUMA balancing enabled on host2",
	},
	fabric.CauseCPUAffinity: {
		"processes bound to the remote socket's cores",
		"small-message latency doubled",
		"pods in BestEffort QoS class, no CPU pinning",
	},
	fabric.CauseFirstUse: {
		"first call of each size is slow",
		"outliers at 32 B and 8 KiB only",
		"warm-up removes the slow rows",
	},
	fabric.CauseFirewall: {
		"ufw active and ports blocked",
		"bootstrap timed out: security group",
		"nft rules drop the NCCL port",
	},
	fabric.CauseMemlock: {
		"max locked memory 64 kbytes",
		"ENOMEM in ibv_reg_mr",
		"memlock limit",
	},
	fabric.CauseBenignVF: {
		"sminfo: failed to open umad port in VF",
		"vCenter says link down while ib_write_bw runs at line rate",
	},
}
