package diagnose

import "railwright.dev/railwright/internal/fabric"

// remedy is the next command that shows whether a cause is the true one, and what fixes it.
type remedy struct{ confirm, fix string }

func remedyOf(c fabric.CauseID) remedy {
	for _, part := range []map[fabric.CauseID]remedy{pathRemedies, fabricRemedies, hostRemedies, softwareRemedies} {
		if r, ok := part[c]; ok {
			return r
		}
	}
	return remedy{confirm: "railwright check"}
}

var pathRemedies = map[fabric.CauseID]remedy{
	fabric.CauseACSRedirect:            {"ib_write_bw --report_gbits with and without --use_cuda=0; lspci -vvv | grep ACSCtl shows SrcValid+ or ReqRedir+ on bridges", "clear ACS on the PCIe switches above GPU and NIC: setpci -s BRIDGE ECAP_ACS+0x6.w=0000, or in the BIOS; railwright check names the bridges"},
	fabric.CauseATSDisabled:            {"in the VM, ib_write_bw --report_gbits with and without --use_cuda=0; mlxconfig -d DEV q ATS_ENABLED; in the VM lspci -vvv | grep ATSCtl", "mlxconfig -d DEV set ATS_ENABLED=true and reset the NIC; let the hypervisor keep direct translated P2P (ESXi: pciPassthru.RelaxACSforP2P=true)"},
	fabric.CauseGDRDisabled:            {"NCCL_DEBUG=INFO: look for GDRDMA on the lines via NET/IB; lsmod | grep peermem", "modprobe nvidia-peermem (or use a driver with dma-buf), leave NCCL_NET_GDR_LEVEL unset"},
	fabric.CauseGPUNICMisaligned:       {"nvidia-smi topo -m in each worker: each GPU needs a NIC at PIX or PXB", "give each worker GPUs and NICs of the same PCIe roots, with a matchAttribute constraint on pcieRoot, or whole nodes"},
	fabric.CauseVMTopologyMissing:      {"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH: PHB or SYS between every GPU and NIC; railwright topo show in the VM", "NCCL_TOPO_FILE with the topology of the host: railwright topo nccl writes it"},
	fabric.CauseTopoXMLWrong:           {"railwright topo lint FILE; NCCL_DEBUG=INFO names what NCCL ignored or set to its default of 12 GB/s", "railwright topo lint --fix FILE"},
	fabric.CauseXGMIModelUnmatched:     {"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH: no RCCL model is named", "an RCCL release that supports the machine, all GPUs and NICs visible to the process, NPS and IOMMU as in the vendor's guide"},
	fabric.CausePCIeDowngraded:         {"lspci -vvv -s DEV | grep -E 'LnkCap|LnkSta' of NIC and GPU; railwright check", "reseat the card, set the slot's generation in the BIOS, replace riser or retimer"},
	fabric.CausePCIeDowngradedUpstream: {"lspci -tv, then LnkSta of each bridge above the NIC; railwright check", "retrain or replace the link of that bridge: its cable, riser or switch board"},
	fabric.CauseHostMemoryInterleaving: {"ib_write_bw --report_gbits with and without --use_rocm or --use_cuda on the same NIC; the BIOS's memory interleaving", "BIOS: memory interleaving Auto, NPS1, every memory channel populated"},
	fabric.CauseNICProfile:             {"lspci -vvv -s NIC | grep -E 'RlxdOrd|MaxReadReq'; railwright check", "RoCE profile of the NIC (niccli or bnxtnvm, mlxconfig PCI_WR_ORDERING=1), MaxReadReq 4096, relaxed ordering on"},
	fabric.CauseIOMMUTranslated:        {"cat /proc/cmdline; dmesg | grep -i iommu", "iommu=pt on the kernel command line"},
}

var fabricRemedies = map[fabric.CauseID]remedy{
	fabric.CauseHCASubset:        {"NCCL_DEBUG=INFO: NET/IB : Using lists the NICs; count them, and the bytes of each port during a run", "NCCL_IB_HCA with every NIC and no blanks, or unset"},
	fabric.CauseHalfPortTwin:     {"NCCL_DEBUG=INFO: NET/IB : Using must list both rocep1s0f1 and roceP2p1s0f1", "NCCL_IB_HCA=rocep1s0f1,roceP2p1s0f1, an address on each twin in its own subnet"},
	fabric.CausePortRateLow:      {"ibstat or ethtool: rate of each port, at both ends; railwright check", "the right cable and transceiver, speed and FEC alike at both ends"},
	fabric.CauseBondHashing:      {"ib_write_bw -q 1, then -q 8: more queue pairs fill the second port; counters of both members", "no bond on RDMA ports: one address per port; else more queue pairs (NCCL_IB_QPS_PER_CONNECTION) and layer3+4 hashing"},
	fabric.CauseMTUMismatch:      {"ping -M do -s 8972 over each rail; ib_write_bw prints Mtu; railwright check", "MTU 9000 on every interface, VLAN and switch port of the path (Spark: both twins), so that RoCE carries 4096"},
	fabric.CauseRoCELossy:        {"before and after a run: ethtool -S at both ends, drop and PFC counters of the switch", "PFC and ECN on the same class at host and switch: railwright render"},
	fabric.CauseQoSClassMismatch: {"ethtool -S NIC | grep prio during a run: the counters of the lossless priority must move", "NCCL_IB_TC, cma_roce_tos and the switch's map to one DSCP: railwright render"},
	fabric.CauseARPFlux:          {"ping -I each address, compare the MAC in ip neigh; railwright check", "net.ipv4.conf.all.arp_ignore=1, arp_announce=2, one subnet per NIC"},
	fabric.CauseRouteMissing:     {"ip rule; ip route get PEER from ADDRESS; railwright check", "a rule and a table for each rail's address: railwright render"},
	fabric.CauseLinkDown:         {"ibstat or ip -br link at both ends; the switch's port state", "cable, transceiver, port enabled at both ends"},
	fabric.CauseGIDIndex:         {"show_gids at both ends: the RoCE v2 IPv4 entry of each port", "leave NCCL_IB_GID_INDEX unset (NCCL 2.21 and later), or the index of the RoCE v2 IPv4 GID"},
	fabric.CausePKeyMismatch:     {"cat /sys/class/infiniband/*/ports/1/pkeys/0 on both nodes; the subnet manager's partitions.conf", "full membership (0x8000 set) of one partition on every node"},
	fabric.CauseOversubscription: {"the same test within one leaf and across two; the uplinks' counters", "enough uplinks for the hosts, adaptive routing, ranks of a rail on one leaf"},
	fabric.CauseSlowLink:         {"ib_write_bw over that link, then with the cable swapped; symbol and FEC errors of the port", "replace or clean cable and transceiver"},
	fabric.CauseSlowNode:         {"all_reduce_perf on that node alone, then the pair matrix without it; railwright diff NODE GOODNODE", "take the node out and compare its facts with a good one"},
	fabric.CauseMiscabled:        {"lldpcli show neighbors on each host, compared with the plan: railwright check does it", "move the cable to the planned port"},
	fabric.CauseSubnetManager:    {"sminfo; ibstat: State and SM lid", "start opensm or the switch's subnet manager, virt_enabled for virtual functions"},
	fabric.CauseNICDegradedInit:  {"ib_write_bw --report_gbits on the port: far under its rate although ethtool says full", "power off both machines for a minute with the cable out, then start again"},
	fabric.CauseSwitchOSVersion:  {"show version on the switch against the release notes of the adapter's firmware", "update the switch OS to the release that the adapter's firmware requires"},
	fabric.CauseBenignVF:         {"ib_write_bw over the VF: traffic flows", "nothing: a VF has no management interface"},
	fabric.CauseFirewall:         {"nc -vz PEER PORT from each node; nft list ruleset", "on the rendezvous interface, allow all ports between the nodes"},
	fabric.CauseFirmwareDCBX:     {"dmesg | grep setets; niccli nvm --getoption dcbx_mode, lldp_nearest_bridge, lldp_nearest_non_tpmr_bridge", "switch all three off in the NIC's NVM and restart"},
}

var hostRemedies = map[fabric.CauseID]remedy{
	fabric.CauseNVLinkDegraded:     {"nvidia-smi nvlink -s and -e on that node (rocm-smi --showxgmierr on AMD)", "reset the GPUs; a board with inactive links goes to the vendor"},
	fabric.CauseGPUThrottled:       {"nvidia-smi -q -d CLOCK,PERFORMANCE,POWER under load", "power cap, cooling, clocks back to default"},
	fabric.CauseFabricManager:      {"systemctl status nvidia-fabricmanager; its version and the driver's", "the Fabric Manager of the driver's exact version, unmasked and started"},
	fabric.CauseGPUDriver:          {"nvidia-smi; dmesg | grep -E 'NVRM|Xid|amdgpu'", "reload or reinstall the GPU driver; reset the GPU"},
	fabric.CauseESXiDriverUnloaded: {"esxcli system module list | grep nmlx5", "esxcli system module load -m nmlx5_core, then mst start"},
	fabric.CauseSRIOVLeftOn:        {"mlxconfig -d DEV q SRIOV_EN NUM_OF_VFS", "mlxconfig -d DEV set SRIOV_EN=0, restart the host"},
	fabric.CauseNumaBalancing:      {"cat /proc/sys/kernel/numa_balancing", "sysctl -w kernel.numa_balancing=0"},
	fabric.CauseCPUAffinity:        {"compare taskset -p of each rank with nvidia-smi topo -m; then run again with --bind-to numa", "bind each rank to the cores of its GPU's NUMA node; in pods, use guaranteed QoS and the static CPU manager"},
	fabric.CauseMemlock:            {"ulimit -l in the job's own shell", "memlock unlimited for the job: limits.conf, systemd LimitMEMLOCK=infinity, IPC_LOCK in pods"},
	fabric.CauseDriverABI:          {"ibv_devinfo warns of the ABI; strace shows which provider library is loaded", "the user-space provider of the same package as the kernel driver"},
	fabric.CauseDriverConflict:     {"dmesg | grep 'Unknown symbol'; ls /usr/sbin/ofed_uninstall.sh", "one RDMA stack: uninstall the other, reboot"},
}

var softwareRemedies = map[fabric.CauseID]remedy{
	fabric.CauseSocketFallback:  {"NCCL_DEBUG=INFO: NET/Socket or NET/IB; iperf3 over the same interface is as slow", "make RDMA devices visible (ibv_devices, /dev/infiniband in containers), NCCL_IB_DISABLE unset, NCCL_NET=IB to fail instead of falling back"},
	fabric.CauseNCCLSettings:    {"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=ENV, then the same run with env -i and only what is needed", "unset what forces algorithm, protocol, channels, P2P or SHM; check nccl.conf too"},
	fabric.CauseP2PChannels:     {"NCCL_MIN_P2P_NCHANNELS=32 NCCL_NCHANNELS_PER_NET_PEER=4 and alltoall_perf again", "raise NCCL_NCHANNELS_PER_NET_PEER and NCCL_MIN_P2P_NCHANNELS until alltoall stops improving"},
	fabric.CauseEnvNotForwarded: {"mpirun with env | grep NCCL_ on every rank", "mpirun -x for each variable, or nccl.conf on every node"},
	fabric.CauseLibraryBuild:    {"NCCL_DEBUG=VERSION on every rank; the same run with the release of the vendor", "one released NCCL on all nodes, built for the GPU's architecture"},
	fabric.CauseNetPlugin:       {"NCCL_DEBUG=INFO: which NET plugin and tuner is loaded; the same with NCCL_NET_PLUGIN=none, or with NCCL_IB_ECE_ENABLE=0", "the plugin that the cloud or vendor requires, in the release for this NCCL"},
	fabric.CauseMPINotBuilt:     {"ldd all_reduce_perf | grep mpi", "make MPI=1 MPI_HOME=DIR in nccl-tests"},
	fabric.CauseTreeArtefact:    {"the same with NCCL_ALGO=RING: its bus bandwidth is what the wire carries", "compare per-NIC rates, or measure on three and more nodes"},
	fabric.CauseFirstUse:        {"the same sizes again with -w 20 -n 50: rows that were jitter move", "more warm-up; not a bandwidth fault"},
	fabric.CauseHealthy:         {"", ""},
}

// tieBreak is two causes that fit the same signs, and the test that tells them apart.
type tieBreak struct {
	a, b fabric.CauseID
	test string
}

var contests = []tieBreak{
	{fabric.CauseACSRedirect, fabric.CauseGDRDisabled, "NCCL_DEBUG=INFO: with GDRDMA on the NET/IB lines it is the PCIe path (lspci -vvv | grep ACSCtl), without it is the registration"},
	{fabric.CauseATSDisabled, fabric.CauseGDRDisabled, "NCCL_DEBUG=INFO in the VM: with GDRDMA on the NET/IB lines it is ATS or ACS, without it is the registration"},
	{fabric.CauseATSDisabled, fabric.CauseVMTopologyMissing, "ib_write_bw --use_cuda in the VM: slow means ATS or ACS, full rate means that NCCL's view of the topology is at fault"},
	{fabric.CauseATSDisabled, fabric.CauseACSRedirect, "systemd-detect-virt: in a VM it is ATS and the hypervisor, on bare metal ACS of the bridges"},
	{fabric.CauseACSRedirect, fabric.CausePCIeDowngraded, "ib_write_bw with host memory: full rate means ACS, the same half means a PCIe link"},
	{fabric.CauseATSDisabled, fabric.CausePCIeDowngraded, "ib_write_bw with host memory in the VM: full rate means ATS, the same half means a PCIe link"},
	{fabric.CauseHCASubset, fabric.CauseACSRedirect, "bytes of each port before and after a run: idle NICs mean a subset, all of them slow mean the path between GPU and NIC"},
	{fabric.CauseHCASubset, fabric.CauseATSDisabled, "bytes of each port before and after a run: idle NICs mean a subset, all of them slow mean the path between GPU and NIC"},
	{fabric.CauseHCASubset, fabric.CauseGDRDisabled, "NCCL_DEBUG=INFO: the NICs that NET/IB lists, and GDRDMA on the lines via NET/IB"},
	{fabric.CauseHCASubset, fabric.CausePortRateLow, "ibstat on every port: all at full rate means a subset; NCCL_DEBUG=INFO lists it"},
	{fabric.CauseHCASubset, fabric.CausePCIeDowngraded, "NCCL_DEBUG=INFO: the NICs that NET/IB lists; lspci -vvv | grep LnkSta"},
	{fabric.CauseHCASubset, fabric.CauseGPUNICMisaligned, "NCCL_DEBUG=INFO: fewer NICs listed is a subset; all listed, and SYS in nvidia-smi topo -m, is alignment"},
	{fabric.CauseSocketFallback, fabric.CauseLibraryBuild, "NCCL_DEBUG=INFO: NET/Socket means TCP, NET/IB means the library: run the vendor's release"},
	{fabric.CauseNICDegradedInit, fabric.CauseLibraryBuild, "ib_write_bw on the port: equally slow means the adapter, full rate means the library"},
	{fabric.CauseNICDegradedInit, fabric.CauseSocketFallback, "ib_write_bw on the port: equally slow means the adapter, full rate means that NCCL does not use it"},
	{fabric.CauseMTUMismatch, fabric.CauseNICProfile, "ib_write_bw prints Mtu: 4096 rules out the MTU"},
	{fabric.CauseMTUMismatch, fabric.CauseRoCELossy, "ping -M do -s 8972 over each rail: an answer rules out the MTU; then drop counters"},
	{fabric.CauseRoCELossy, fabric.CauseQoSClassMismatch, "ethtool -S NIC | grep prio during a run: bytes in a priority other than the lossless one mean the class"},
	{fabric.CauseRoCELossy, fabric.CauseSlowLink, "ib_write_bw link by link: one slow link, or drops on all under load"},
	{fabric.CausePCIeDowngraded, fabric.CausePortRateLow, "ibstat for the rate of the port, lspci -vvv | grep LnkSta for that of PCIe"},
	{fabric.CausePCIeDowngraded, fabric.CausePCIeDowngradedUpstream, "lspci -vvv: LnkSta of the NIC, then of each bridge above it"},
	{fabric.CauseCPUAffinity, fabric.CauseNetPlugin, "the same run with --bind-to numa, then with the plugin and tuner of the platform: whichever changes the result is the cause"},
	{fabric.CauseCPUAffinity, fabric.CauseNumaBalancing, "sysctl -w kernel.numa_balancing=0 and the same run; then with --bind-to numa"},
	{fabric.CauseOversubscription, fabric.CauseSlowNode, "pair matrix: one row low is a node, all pairs across leaves low are the uplinks"},
	{fabric.CauseSlowNode, fabric.CauseSlowLink, "pair matrix: a whole row low is the node, one cell the link"},
	{fabric.CauseNVLinkDegraded, fabric.CauseFabricManager, "nvidia-smi nvlink -s: inactive links are NVLink; all active, and NVLS missing in the log, is Fabric Manager"},
	{fabric.CauseNVLinkDegraded, fabric.CauseNCCLSettings, "the same run with env -i: fine means a setting; else nvidia-smi nvlink -s"},
	{fabric.CauseNVLinkDegraded, fabric.CauseGPUThrottled, "nvidia-smi -q -d PERFORMANCE under load; nvidia-smi nvlink -s"},
	{fabric.CauseACSRedirect, fabric.CausePCIeDowngradedUpstream, "lspci -vvv: ACSCtl and LnkSta of each bridge between the GPUs"},
	{fabric.CauseARPFlux, fabric.CauseRouteMissing, "ip neigh for a wrong MAC, ip rule for a missing rule"},
	{fabric.CauseGPUNICMisaligned, fabric.CauseGDRDisabled, "nvidia-smi topo -m: with a NIC at PIX for each GPU it is the registration (lsmod | grep peermem)"},
	{fabric.CauseGPUNICMisaligned, fabric.CauseNetPlugin, "nvidia-smi topo -m in each worker; then the plugin that NCCL_DEBUG=INFO names"},
}

// tieBreakTest is the test that tells two causes apart; empty where none is known.
func tieBreakTest(a, b fabric.CauseID) string {
	for _, c := range contests {
		if c.a == a && c.b == b || c.a == b && c.b == a {
			return c.test
		}
	}
	return ""
}
