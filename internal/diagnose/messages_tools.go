package diagnose

import "railwright.dev/railwright/internal/fabric"

// Messages and figures of tools that name no concept in words: what is printed where something is not as it
// should be (lspci, setpci, nvidia-smi, ethtool, mlxlink, mlnx_qos, iblinkinfo, perfquery, ip, systemctl).
func toolMessages() []message {
	return []message{
		printed(`memory_peers/nv_mem[^\n]*(not|no such)|dma-?buf is available[^\n]{0,24}: ?(no|0|false)|staged (through|via|in) (host|system|cpu)|bounces? (over|through|via) (the )?(cpu|host)|nic (does not|doesn't|can not|cannot) read[^\n]{0,24}gpu`, causeWeight{fabric.CauseGDRDisabled, plain}),
		printed(`maxreadreq:? ?(128|256|512)\b|read request[^\n]{0,16}\b(128|256|512)\b|mrrs\D{0,8}(128|256|512)\b|\bRO\b (is |was )?(off|disabled)|until RO\b`, causeWeight{fabric.CauseNICProfile, plain}),
		printed(`topo -p2p[^\n]*\b(CNS|NS|TNS|DR)\b`, causeWeight{fabric.CauseACSRedirect, 0.6}),
		printed(`(tlps?|peer|p2p|gpu)[^\n]{0,40}(up to the (cpu|root)|bounced? (via|through|over)|go(es)? (through|via|over) the (cpu|root|host bridge))|instead of being switched`, causeWeight{fabric.CauseACSRedirect, plain}),
		printed(`gpu (buffer|memory)[^\n]{0,40}(status|error|err|fail)[^\n]{0,60}host (buffer|memory)[^\n]{0,30}(runs|works?|fine|ok)`, causeWeight{fabric.CauseACSRedirect, plain}),
		printed(`limited by[^\n]{0,40}link at [0-9a-f:.]+ \(capable`, causeWeight{fabric.CausePCIeDowngradedUpstream, plain}),
		printed(`(retimer|uplink|parent bridge|root port|upstream|above the (nic|hca|adapter|gpu))[^\n]{0,48}\b(retrained|keeps|stuck|only|down|stays|limited|forced)\b[^\n]{0,40}\b(gen ?[1-4]|(8|16)(\.0)? ?gt|x[1248])\b|(keeps|holds|forces)[^\n]{0,24}(above|upstream)[^\n]{0,24}gen ?[1-4]`, causeWeight{fabric.CausePCIeDowngradedUpstream, plain}),
		printed(`(can ?not|can't|cannot|does ?n[o']t|do not|doesn't) (see|find|access|open)[^\n]{0,16}(hcas?|nics|rdma|ib devices?|infiniband|verbs devices?)\b|libibverbs\S* (is )?(missing|not found|absent)|missing libibverbs`, causeWeight{fabric.CauseSocketFallback, plain}),
		printed(`\b(ib|rdma|mlx5\w*|hca|xmit_data|roce)\b[^\n]{0,24}(counters?|data|bytes)?[^\n]{0,24}(are|is|stays?|at|does not|do not|don't|doesn't) (zero|flat|move|0\b)[^\n]{0,24}(while|but|and)[^\n]{0,16}(eth|eno|ens|bond|mgmt)\d*`, causeWeight{fabric.CauseSocketFallback, plain}),
		printed(`(tcp traffic|iftop|nload)[^\n]{0,80}(mlx5|xmit_data|hca)`, causeWeight{fabric.CauseSocketFallback, plain}),
		printed(`row \S+ and column|(host|node)s? \S+ in every slow pair`, causeWeight{fabric.CauseSlowNode, plain}),
		printed(`\b(just|only|solely|exactly) (the pair )?(host|node|gpu|server)?-?\w+ ?(<->|<>|↔|/| to | and ) ?\w+ (is|are|shows?|gives?|at)[^\n]{0,16}(low|slow|bad|half)`, causeWeight{fabric.CauseSlowLink, plain}),
		printed(`\b(symbolerrorcounter|linkerrorrecoverycounter|portrcverrors|linkdownedcounter)\b[^\n]{0,24}([1-9]|up|rising|grow|increas)|(raw|effective)[^\n]{0,16}ber\D{0,8}\d+e-?0?[1-9]\b`, causeWeight{fabric.CauseSlowLink, plain}),
		printed(`\b(nic|hca|rail|port|mlx5_)\s?\d+\b[^\n]{0,16}(alone|only)[^\n]{0,16}\b[1-7]\d ?(%|percent)`, causeWeight{fabric.CauseSlowLink, plain}),
		printed(`phys(ical)?[ _]state:? ?(\d: ?)?(disabled|polling|sleep)|notconnect|err(or)?-?disabled|link light|not inserted|not plugged|state polling|module (not present|missing)`, causeWeight{fabric.CauseLinkDown, plain}),
		printed(`(miss\w*|lack\w*|forgot\w*)[^\n]{0,24}\b(mtu|jumbo)|\b(mtu|jumbo)\b[^\n]{0,40}(forgot|missing|left out|not set)|forgotten[^\n]{0,24}jumbo|ping\b[^\n]{0,40}-s ?[2-9]\d{3}[^\n]{0,40}(fail|lost|drop|not|does)`, causeWeight{fabric.CauseMTUMismatch, plain}),
		printed(`\b(all|every|both|two|four|eight|\d)\b[^\n]{0,8}\b(rails?|nics?|interfaces?|hcas?|ports?)\b[^\n]{0,16}\b(in|on|share|within|inside) (the )?(same )?\d+\.\d+\.\d+\.\d+/\d+|same lladdr|is-at\b|weak host`, causeWeight{fabric.CauseARPFlux, plain}),
		printed(`leave (through|over|via) (eth0|the management|the default)|not routed|only local, main|main table (has|alone)`, causeWeight{fabric.CauseRouteMissing, 0.65}),
		printed(`-x ?\d\b[^\n]{0,40}(fail|without|needs|need)|needs? -x ?\d`, causeWeight{fabric.CauseGIDIndex, plain}),
		printed(`\b(only|nothing but) (ssh|port 22)|ports?[^\n]{0,16}(not allowed|aren't allowed|not open|are closed|is closed|isn't open)|no self-referenc|self-referencing`, causeWeight{fabric.CauseFirewall, plain}),
		printed(`systemnotready|cuinit\S*[^\n]{0,16}802\b|\bfm\b[^\n]{0,24}\b\d{3}\b[^\n]{0,24}driver[^\n]{0,12}\d{3}`, causeWeight{fabric.CauseFabricManager, plain}),
		printed(`unable to determine the device handle|is_available\(\)[^\n]{0,12}false|\bnouveau\b|dkms[^\n]{0,40}(not|fail)|(seven|7) gpus? (are |is )?(listed|visible|left|show)|(five|six|seven|[1-7]) of (8|eight) gpus`, causeWeight{fabric.CauseGPUDriver, plain}),
		printed(`mst status[^\n]*(no devices|no mst devices|empty|nothing)|nmlx5\S*[^\n]{0,40}(must be enabled|not enabled|false|disabled|nothing)|esxi[^\n]{0,60}driver[^\n]{0,16}(isn't|is not|not|missing)`, causeWeight{fabric.CauseESXiDriverUnloaded, 0.85}),
		printed(`(virtual functions?|vfs?|sr-?iov)[^\n]{0,40}(still|remain\w*|left)[^\n]{0,20}\b(on|enabled|active|configured)\b`, causeWeight{fabric.CauseSRIOVLeftOn, plain}),
		printed(`num_of_vfs\D{0,6}[1-9]|sriov_numvfs\D{0,8}[1-9]`, causeWeight{fabric.CauseSRIOVLeftOn, likely}),
		printed(`(two|2|second|both|rival)[^\n]{0,8}\b(sms|subnet managers|opensm)\b`, causeWeight{fabric.CauseSubnetManager, plain}),
		printed(`(user-?space|provider (library|driver)|rdma-core|libibverbs|libmlx5|libbnxt\w*)[^\n]{0,60}(does not fit|not match|mismatch\w*|disagree|incompatible|from 20[01]\d|too old)|ibv_devices empty[^\n]{0,40}container|failed to open device; provider`, causeWeight{fabric.CauseDriverABI, 0.8}),
		printed(`(inbox|distro|upstream)[^\n]{0,60}\b(ofed|mofed|doca)|\b(ofed|mofed|doca)\S*[^\n]{0,40}(inbox|distro|mixed)|two versions of (mlx5|ib_|bnxt|rdma|irdma)|(bnxt_re|mlx5_ib|irdma)[^\n]{0,60}(won't|will not|not|fails to) load|shadows the (m?ofed|doca)`, causeWeight{fabric.CauseDriverConflict, 0.8}),
		printed(`(bnxtqos|mlnx_qos|lldptool|niccli)[^\n]{0,40}(all|every)[^\n]{0,24}zero|controlled by firmware|dcbx mode:? ?(fw|firmware)`, causeWeight{fabric.CauseFirmwareDCBX, 0.8}),
		printed(`perftest[^\n]{0,40}(lacks|without|no|not)[^\n]{0,24}cuda|\bDEBUG=1\b|git bisect|unlike nccl|different nccl`, causeWeight{fabric.CauseLibraryBuild, plain}),
		printed(`rank 0 on (each|every)|(all|every)\b[^\n]{0,16}(report|print|say)s? rank 0|ngpus? ?\d[^\n]{0,24}\b\d+ times|(isn't|not) linked (to|with|against) (lib)?mpi|rank 0 group 0[^\n]{0,60}no rank 1|think\w* it'?s? (is )?alone`, causeWeight{fabric.CauseMPINotBuilt, plain}),
		printed(`\b\d+ ?B\b[^\n]{0,24}\b\d+ ?us\b[^\n]{0,24}(elsewhere|other|expected|instead|usual|normal)`, causeWeight{fabric.CauseCPUAffinity, likely}),
		printed(`\bslave\b[^\n]{0,60}\bslave\b`, causeWeight{fabric.CauseBondHashing, plain}),
		printed(`libnccl-net\S*[^\n]{0,40}(undefined|symbol|incompat)|(ignor\w*|skip\w*|reject\w*)[^\n]{0,24}plugin`, causeWeight{fabric.CauseNetPlugin, plain}),
		printed(`rank [1-9]\d*\b[^\n]{0,24}(lacks|misses|without|does not|has no)[^\n]{0,80}rank 0`, causeWeight{fabric.CauseEnvNotForwarded, plain}),
		printed(`formula[^\n]{0,40}\btree|\btree[^\n]{0,40}formula`, causeWeight{fabric.CauseTreeArtefact, plain}),
		printed(`default domain type:? ?translated|swiotlb|intel_iommu=on(?:[^\n]*without| *$)|iommu=on[^\n]{0,24}(without|no) `, causeWeight{fabric.CauseIOMMUTranslated, plain}),
		printed(`numa_node (is|=|:)? ?-1|numa_node:? ?-1`, causeWeight{fabric.CauseVMTopologyMissing, likely}),
		printed(`(virtualtopology|topo\S*)\.xml[^\n]{0,16}(does not exist|not exist|missing|absent)|lacks[^\n]{0,24}topo\S*\.xml`, causeWeight{fabric.CauseVMTopologyMissing, plain}),
		printed(`link_(speed|width)="?[0-9]|em dash|gdr="?0|(graph|xml|topology)[^\n]{0,24}speed\D{0,8}\d{5,6}[^\n]{0,32}\d{5,6}|hand-(written|edited)`, causeWeight{fabric.CauseTopoXMLWrong, plain}),
		printed(`\bats(_\w+)?\b[^\n]{0,32}(not|no|off|disabled|false|lacks)|address translation[^\n]{0,40}(not|off|no)|directtrans[^\n]{0,16}(not|-)|ats_enabled=1[^\n]{0,80}(got|gives|reach|full|now)`, causeWeight{fabric.CauseATSDisabled, plain}),
		printed(`bios[^\n]{0,40}(slot|speed)[^\n]{0,24}gen ?[1-4]\b`, causeWeight{fabric.CausePCIeDowngraded, plain}),
		printed(`\d+ of (the |its )?\d+ (memory (channels|slots)|(channels|slots)[^\n]{0,24}(modules?|dimms?|populated))|(half|quarter) of (its|the) (memory|dimm) (slots|channels)|sub-?numa`, causeWeight{fabric.CauseHostMemoryInterleaving, plain}),
	}
}
