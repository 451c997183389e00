package diagnose

import (
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// wordings are what people and programs write of a fault, several ways each. One fact has one answer.
var wordings = map[fabric.CauseID][]string{
	fabric.CauseACSRedirect: {
		"ACS is enabled on the PLX switches",
		"lspci shows ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ on every bridge",
		"access control services were left on in the BIOS",
		"all_reduce hangs with P2P; works with P2P disabled",
		"completion errors only when GPU memory is used",
	},
	fabric.CauseATSDisabled: {
		"ATS is disabled on the NIC",
		"lspci in the VM: ATSCtl: Enable-, ATS is not enabled",
		"address translation services off on the adapter",
		"mlxconfig q says ATS_ENABLED False(0), ATS off",
	},
	fabric.CauseGDRDisabled: {
		"NCCL log: no GDRDMA on any channel",
		"GPU Direct RDMA disabled",
		"the nvidia-peermem module is not loaded",
		"none of the channels use GDRDMA",
		"GPUDirect is off",
		"dma-buf is not supported by this kernel and peermem is missing",
	},
	fabric.CauseSocketFallback: {
		"NCCL log: NET/Socket : Using [0]eth0",
		"NCCL falls back to TCP",
		"the log says Using network Socket",
		"NET/IB : No device found.",
		"all traffic goes over TCP sockets instead of RDMA",
	},
	fabric.CauseHCASubset: {
		"only 2 of 8 NICs carry traffic",
		"NCCL uses only mlx5_0 and mlx5_1, the other six NICs are idle",
		"four of the eight HCAs show no traffic, idle NICs",
		"only one NIC is used",
	},
	fabric.CauseHalfPortTwin: {
		"only one of the two twins of the port is used",
		"roceP2p1s0f1 is missing from NCCL_IB_HCA",
		"the second half of the port has no address",
	},
	fabric.CausePortRateLow: {
		"the link negotiated at 200G instead of 400G",
		"ibstat: Rate: 200 on a 400G port",
		"the port came up at 100 Gb/s",
	},
	fabric.CauseBondHashing: {
		"the two ports are in an LACP bond and all flows land on one member",
		"traffic of the bond hashes to one port",
		"link aggregation: only one slave carries traffic",
	},
	fabric.CausePCIeDowngraded: {
		"LnkSta: Speed 16GT/s (downgraded), Width x16 on the NIC",
		"the adapter trained at Gen4 instead of Gen5",
		"PCIe link of the NIC is x8 instead of x16",
		"the NIC's PCIe link width is degraded",
	},
	fabric.CausePCIeDowngradedUpstream: {
		"the bridge above the NIC is downgraded to Gen3",
		"endpoint link is fine, the upstream port of the PCIe switch trained at 8 GT/s",
		"the PCIe switch uplink runs at x8 instead of x16",
	},
	fabric.CauseGPUNICMisaligned: {
		"the pods got GPUs whose NICs are on the other NUMA node",
		"GPU and NIC of each worker are not aligned",
		"the worker's GPUs have no near NIC",
		"nvidia-smi topo -m shows SYS between the GPUs and the NICs of the pod",
	},
	fabric.CauseVMTopologyMissing: {
		"the guest has a flat PCIe topology, every NIC is PHB",
		"VM without a topology file",
		"no NCCL_TOPO_FILE in the virtual machine",
		"all distances are SYS in the VM",
	},
	fabric.CauseTopoXMLWrong: {
		"NCCL WARN XML Mismatch : pci / nic",
		"the topology file is wrong: speed of the NICs is twice the real one",
		"XML Parse error : expecting '<', got TAB",
		"NCCL ignores elements of the topology XML, parse error",
	},
	fabric.CauseXGMIModelUnmatched: {
		"RCCL did not match any rome model",
		"RCCL does not recognise the machine and falls to generic search",
		"the topology model was not matched",
	},
	fabric.CauseMTUMismatch: {
		"MTU 1500 on the ConnectX-7 interfaces",
		"the switch VLAN has another MTU than the hosts",
		"jumbo frames are not enabled",
		"Failed status 12: wr_id 0 syndrom 0x81",
		"the path MTU is only 1024, active_mtu 1024 (3)",
	},
	fabric.CauseRoCELossy: {
		"PFC is not enabled on the switch",
		"the NIC counts out_of_sequence and packet_seq_err",
		"drops on the leaf ports rise during the run",
		"packets are lost under load, many retransmissions",
		"ECN is off",
	},
	fabric.CauseQoSClassMismatch: {
		"RoCE traffic runs in priority 0, which is not lossless",
		"rx_prio0_bytes grow instead of prio3",
		"DSCP 26 is mapped to the wrong traffic class",
		"packets leave with DSCP 0",
	},
	fabric.CauseARPFlux: {
		"eth1 answers ARP for the address of eth2",
		"all eight NICs are in one subnet and arp_ignore is 0",
		"several interfaces of the host in the same subnet",
	},
	fabric.CauseRouteMissing: {
		"some pairs are unreachable, there is no source route for rail 3",
		"ping over eth4: Network is unreachable",
		"policy routing rules are missing",
		"No route to host",
	},
	fabric.CauseLinkDown: {
		"port 1 of mlx5_3 is Down",
		"eth5 has NO-CARRIER",
		"ibstat: State: Down, Physical state: Polling",
		"one link is down",
	},
	fabric.CauseGIDIndex: {
		"wrong GID index: RoCE v1 is used",
		"Call to ibv_modify_qp failed with 61 No data available, local GID ::",
		"NCCL_IB_GID_INDEX differs between the hosts",
		"GID index 3 is empty on host2",
	},
	fabric.CausePKeyMismatch: {
		"the partition keys of the two nodes differ",
		"host2 is a limited member of the partition",
		"P_Key mismatch between nodes",
	},
	fabric.CauseNCCLSettings: {
		"NCCL_PROTO=LL is set in the environment",
		"somebody left NCCL_MAX_NCHANNELS=2 in nccl.conf",
		"NCCL_ALGO forced by an environment setting, slow",
	},
	fabric.CauseP2PChannels: {
		"alltoall is low while all_reduce is fine",
		"too few point-to-point channels",
		"raising NCCL_NCHANNELS_PER_NET_PEER fixes alltoall",
	},
	fabric.CauseNVLinkDegraded: {
		"nvidia-smi nvlink -s: two links inactive",
		"GPU 3 has 17 of 18 NVLinks",
		"NVLink errors on GPU 5",
		"NVLinks are down on one GPU",
	},
	fabric.CauseOversubscription: {
		"fine inside one leaf, slow across leaves",
		"the leaf to spine links are oversubscribed 4:1",
		"too few uplinks between leaf and spine",
	},
	fabric.CauseGPUThrottled: {
		"GPU 2 is thermally throttled",
		"nvidia-smi -q: HW Slowdown: Active, clocks at 345 MHz",
		"the power cap of the GPUs is set to 300 W",
	},
	fabric.CauseHostMemoryInterleaving: {
		"memory interleaving is disabled in the BIOS",
		"host memory is slow, GPU memory at line rate on the same NIC",
		"the BIOS has Memory Interleaving: Disabled",
	},
	fabric.CauseNICProfile: {
		"relaxed ordering is off",
		"PCIe relax order: OFF",
		"the NIC is not in its RoCE profile",
		"MaxReadReq is 512, wrong for this NIC",
	},
	fabric.CauseFabricManager: {
		"nvidia-fabricmanager is masked",
		"Fabric Manager is not running",
		"fabric manager version differs from the driver",
		"CUDA error 802: system not yet initialized",
	},
	fabric.CauseGPUDriver: {
		"unhandled cuda error: invalid device ordinal",
		"nvidia-smi fails: couldn't communicate with the NVIDIA driver",
		"the GPU driver is not loaded",
		"NVLS init: Cuda failure 1 'invalid argument'",
	},
	fabric.CauseESXiDriverUnloaded: {
		"mst status is empty on the ESXi host",
		"nmlx5_core is not loaded",
		"mst status shows no devices",
	},
	fabric.CauseSRIOVLeftOn: {
		"SR-IOV is still enabled on the NIC that is passed through",
		"SRIOV_EN=1 although passthrough is used",
		"DirectPath passthrough fails, SR-IOV was left on",
	},
	fabric.CauseSwitchOSVersion: {
		"MLNX-OS is too old for the adapter firmware, the port stays down in the VM",
		"the switch runs an outdated Onyx release",
		"switch OS older than the release that the NIC firmware asks for",
	},
	fabric.CauseEnvNotForwarded: {
		"NCCL_IB_HCA is exported in the shell but not forwarded by mpirun",
		"the variables do not reach the other ranks",
		"only rank 0 sees NCCL_SOCKET_IFNAME, remote ranks use defaults",
	},
	fabric.CauseSlowNode: {
		"every pair with node 644 is slow",
		"row and column of host7 in the pair matrix are low",
		"all pairs that include node12 get half",
	},
	fabric.CauseSlowLink: {
		"only the pair host3 host5 is slow, all other pairs are fine",
		"rail 4 alone is slow",
		"symbol errors on one cable",
	},
	fabric.CauseMiscabled: {
		"LLDP neighbour of eth3 differs from the plan",
		"two cables are swapped",
		"the cable is in the wrong switch port",
	},
	fabric.CauseSubnetManager: {
		"no subnet manager is running",
		"ports stay in Init, LID 0",
		"ibstat: State: Initializing, SM lid: 0",
		"opensm is down",
	},
	fabric.CauseDriverABI: {
		"libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1)",
		"ABI mismatch between libbnxt_re and the kernel",
		"the provider library is built for another kernel ABI",
	},
	fabric.CauseDriverConflict: {
		"bnxt_re: Unknown symbol ib_umem_release (err -22)",
		"bnxt_re: disagrees about version of symbol ib_modify_qp_is_ok",
		"MLNX OFED and the inbox RDMA stack are both installed",
	},
	fabric.CauseFirmwareDCBX: {
		"infiniband bnxt_re2: Fail to setets rc:-22",
		"PRIO_MAP all 0 and PFC enabled: none after the driver loaded, firmware DCBX is on",
		"firmware based LLDP blocks the QoS setup",
	},
	fabric.CauseNICDegradedInit: {
		"the adapter came up degraded although the link reads full",
		"13 Gb/s on a port that shows 200G; a power cycle cures it",
		"after reboot the NIC is slow, ethtool says 200000Mb/s",
	},
	fabric.CauseLibraryBuild: {
		"NCCL was built from a development branch",
		"the two nodes have different NCCL versions",
		"perftest was compiled without CUDA support: wrong build",
		"LD_LIBRARY_PATH picks up an old NCCL",
	},
	fabric.CauseNetPlugin: {
		"aws-ofi-nccl plugin is not loaded",
		"the gIB plugin is missing in the container",
		"with ECE on each connection is capped at 13 GB/s",
		"libnccl-net plugin fails to load",
	},
	fabric.CauseMPINotBuilt: {
		"Avg bus bandwidth is 0 and the banner is printed once per rank",
		"nccl-tests was built without MPI=1",
		"every rank prints its own table with busbw 0",
	},
	fabric.CauseTreeArtefact: {
		"the tree result exceeds the line rate of the NICs",
		"two-node NVLSTree number read as wire rate",
		"busbw is above what the NICs can carry, tree on two nodes",
	},
	fabric.CauseNumaBalancing: {
		"kernel.numa_balancing=1",
		"NCCL WARN NUMA auto balancing enabled which can lead to variability in the RCCL performance!",
		"automatic NUMA balancing is on",
	},
	fabric.CauseCPUAffinity: {
		"ranks are pinned to the wrong cores",
		"latency of small messages is twice the usual",
		"no CPU affinity set, processes are not pinned",
	},
	fabric.CauseFirstUse: {
		"isolated rows are slow out of place, in place is clean",
		"the first iteration of some sizes is slow, registration",
		"single outliers that go away with more warm-up iterations",
	},
	fabric.CauseFirewall: {
		"firewalld blocks the rendezvous port",
		"Connect to 10.0.0.2<41234> failed : Connection timed out",
		"iptables drops traffic between the nodes",
		"bootstrap: Connection refused",
	},
	fabric.CauseMemlock: {
		"ulimit -l is 64",
		"ibv_reg_mr failed: Cannot allocate memory",
		"the container lacks IPC_LOCK",
		"locked memory limit too small",
	},
	fabric.CauseBenignVF: {
		"sminfo fails in the VF while traffic flows",
		"the vSphere client shows the port as Down but data flows",
		"sminfo: iberror in a virtual function",
	},
}

func TestWordings(t *testing.T) {
	total := 0
	for cause, texts := range wordings {
		for _, text := range append(slices.Clone(texts), otherWordings[cause]...) {
			total++
			r := Explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: &fabric.Observations{
				Observed: []fabric.Observation{{Fact: text}},
			}}}, Input{}).Results[0]
			if len(r.Causes) == 0 || r.Causes[0].ID != cause {
				t.Errorf("%q: %v, want %s first (%v)", text, ids(r.Causes), cause, newReader().read(text, "").mentions)
			}
			if r.Verdict == fabric.VerdictHealthy {
				t.Errorf("%q is called healthy", text)
			}
		}
	}
	t.Logf("%d wordings of %d causes", total, len(wordings))
}
