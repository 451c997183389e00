package diagnose

// concept is a thing that texts speak of, and the ways in which they name it: phrases with | between, words
// with blanks between, * for any ending. The longest phrase at a word wins, so that "tcp socket" is not "socket".
type concept struct{ name, phrases string }

// lexicon is every concept, by topic. Signatures name them in their terms.
func lexicon() []concept {
	var all []concept
	for _, part := range [][]concept{plainWords(), pathWords(), fabricWords(), hostWords(), softwareWords()} {
		all = append(all, part...)
	}
	return all
}

// plainWords say how something is or where.
func plainWords() []concept {
	return []concept{
		{"fine", "as on bare metal|like bare metal|same as bare metal|ok|okay|fine|healthy|good|normal|clean|line rate|full rate|full speed|full bandwidth|as expected|expected rate|work|working|pass|passed|correct|near line|at speed|reference value|unaffected|no problem"},
		{"slow", "slow*|low|lower|poor|poorly|degrad*|below|less than|worse|reduced|bad|stuck at|capped|far from|underperform*|halved|drop to|dropped to|drop from|then drop*|bandwidth drop*|rate drop*|collaps*|slow down|disappoint*"},
		{"trouble", "error*|iberror|cuda failure|unhandled cuda error|invalid device ordinal|completion error*|connection refused|connection timed out|connect timeout|connection closed|fail*|crash*|abort*|hang|hangs|hanging|hung|timeout*|timed out|time out|not be registered|segfault*|segmentation fault|die|dies|died|freez*|frozen|deadlock*|broken|stall*|unusable|refus*|reject*|warn*|corrupt*|wrongresult"},
		{"hang", "hang|hangs|hanging|hung|deadlock*|freez*|stall*|never finish*|never return*|stuck"},
		{"hidden", "hide*|hidden|masks|strips|filtered out|not passed to the guest|not exposed"},
		{"wrong", "wrong*|incorrect*|bad|mismatch*|differ*|different|another|instead of|rather than|disagree*|not the same|unequal|inconsistent|misconfigur*|swapped|unexpected|stale|mixed up|false"},
		{"onlywith", "only with|only when|only if|only for|work without|fine without|go away|disappear*|vanish*|helped by|gone with|gone when|unless|work with|works with|work when|stop when"},
		{"fixed", "fix*|help*|run through|runs to the end|completes|succeed*|full speed again|cured|solv*|resolv*|restor*|recover*|improv*|faster|back to|work then|went up|scale with"},
		{"same", "no change|no difference|same result|unchanged|did not help|no effect|no improvement|does not help|makes no difference"},
		{"single", "single node|one node|1 node|intra node|intranode|within a node|within one node|inside a node|inside one node|single machine|one machine|single host|within the node|each node alone|node alone|in one machine|locally"},
		{"multi", "inter node|internode|two node|2 node|multi node|multinode|across node|between node|cross node|two machine|across machine|over the network|four node|4 node|two host"},
		{"perftest", "perftest|ib write bw|ib read bw|ib send bw|ib write lat|ib write|rdma test|verbs test|verb test|rdma bandwidth test|ib bandwidth test"},
		{"gpumemory", "gpu memory|device memory|use cuda|use rocm|cuda memory|gpu buffer*|with cuda|with rocm|vram|gpu buffer|hbm"},
		{"hostmemory", "host memory|system memory|cpu memory|without gpu|main memory|host buffer*"},
		{"empty", "empty|nothing|no output|no device*|list nothing|show nothing|blank|zero device*|no line*"},
		{"old", "old|older|outdated|too old|behind|not recent|ancient|upgrade|needs an update|predates|eol"},
		{"sizeless", "flat|independent of size|regardless of size|constant|same at every size|no matter the size|whatever the size|does not grow|size independent|any size"},
		{"allreduce", "allreduce|all reduce"},
		{"alltoall", "alltoall|all to all|a2a"},
		{"small", "small message*|small size*|short message*|tiny message*|small"},
		{"latency", "latency|latencies|us per"},
		{"high", "high|higher|doubl*|tripl*|twice|double|2x|3x|5x|6x|elevated|large|increased|times the"},
		{"downword", "down|dead"},
		{"some", "some pair*|some node*|some host*|certain pair*|only pair*|between some|a few pair*|some peer*|some connection*|not every pair"},
		{"average", "average|avg|avg bus|mean over|averaged"},
		{"training", "training|epoch|throughput of the model|tokens per second|job"},
	}
}

// pathWords are of the way between a GPU and a NIC.
func pathWords() []concept {
	return []concept{
		{"gdr", "gdr on|gdr enabled|gdr is on|with gdr|gpudirect rdma on|gpudirect rdma enabled|gpudirect rdma is on|with gpudirect rdma|with gpudirect|gdrdma enabled|with gdrdma|with gpu direct rdma|using gdr|using gpudirect|gpudirect on|gpu direct rdma on|gdrdma|gdr|gpudirect rdma|gpu direct rdma|gpudirect|gpu direct|peer memory direct|gpu memory registration|direct gpu to nic|gpu rdma|rdma from gpu memory|zero copy from gpu"},
		{"peermem", "peermem|nvidia peermem|nv peer mem|peer mem|peer memory|ib peer mem|peer memory client|ib register peer memory client|dma buf|dmabuf|peer memory module|amdkfd peerdirect|peerdirect"},
		{"gdroff", "nccl_net_gdr_level = 0|nccl_net_gdr_level 0|nccl_net_gdr_level = loc|nccl_net_gdr_level=0|gdr level 0|nccl_net_gdr_disable = 1"},
		{"gdron", "gdr on|gdr enabled|gdr is on|with gdr|gpudirect rdma on|gpudirect rdma enabled|gpudirect rdma is on|with gpudirect rdma|with gpudirect|gdrdma enabled|with gdrdma|with gpu direct rdma|using gdr|using gpudirect|gpudirect on|gpu direct rdma on"},
		{"acs", "acs|access control service|srcvalid|srcvalid+|reqredir*|cmpltredir*|request redirect|p2p redirect|acsctl|redirect bit"},
		{"ats", "ats|address translation service|atsctl|ats support|ats capability"},
		{"p2p", "p2p|peer to peer|peer access|nccl_p2p_disable|p2p access|gpu to gpu"},
		{"rootcomplex", "root complex|root port|host bridge|through the cpu|via the cpu"},
		{"phb", "phb|sys|node level|all phb|host bridge distance"},
		{"near", "pix|pxb|same switch|share a switch|one switch|common switch|same pcie switch|same pci switch|share a pcie switch|behind one switch|same bridge"},
		{"distance", "distance|too far|far apart|gdr level|path type"},
		{"flat", "flat pcie|flat pci|flat topology|flat tree|flat virtual|no pcie switch*|no switch in the tree|one flat bus|one root bus|hang off one|single root bus|all behind one bus|all device* on one bus|same virtual bus|virtual pci bus|no hierarchy|no topology|topology missing|topology is not visible|topology not visible|topology hidden"},
		{"topofile", "topology file|topo file|nccl_topo_file|topology description|virtual topology file|topofile"},
		{"xml", "xml|topology xml|topo xml|system xml|topo dump"},
		{"xmlbad", "xml mismatch|xml parse|xml parse error|xml error|expecting|ignoring element|attribute not found|version of node system|xml import|parse error|not parsed"},
		{"vm", "vm|virtual machine|guest|passthrough|pass through|passed through|hypervisor|esxi|kvm|qemu|proxmox|vsphere|vfio|cloud hypervisor|vmware|hyper v|vcpu|virtualised|virtualized"},
		{"misaligned", "misalign*|unaligned|not aligned|nic of another|nic on the other|other numa node|other numa|remote numa|cross numa|wrong numa|different numa*|other socket|across socket|no near nic|no local nic|without a near nic|no adjacent nic|far nic|wrong nic|nearest nic is not|nic of other gpu|gpu nic mismatch|not the nearest"},
		{"aligned", "aligned|alignment|next to its nic*|near nic|nearest nic|local nic|adjacent nic|paired with|affinity between gpu and nic"},
		{"pods", "pod|pods|resource claim|resourceclaim|claim|dra|dranet|device plugin|container|worker"},
		{"gpunic", "gpu and nic|gpu nic|nic and gpu|gpu to nic|gpu and its nic|between gpu and nic"},
		{"downgraded", "downgrad*|trained at|trained below|trained down|negotiated down|below its capability|below capability|reduced width|half width|fewer lane*|missing lane*|pcie 3.0|pcie 4.0|pcie 2.0|pcie gen3|pcie gen 3|retrained|trained to|narrow*"},
		{"pcie", "pcie|pci|lnksta|lnkcap|gen1|gen2|gen3|gen4|gen 3|gen 4|gt|link width|lane|x1|x2|x4|x8|pci express"},
		{"upstream", "upstream|root port|uplink port|bridge|switch port|pcie switch|riser|switch group|parent|retimer|plx|switch uplink|above the endpoint|above it"},
		{"endpoint", "endpoint is fine|endpoint fine|endpoint ok|endpoint itself|device itself|full at the endpoint"},
		{"iommu", "iommu|vt d|dmar|iommu pt|smmu|dma remap*"},
		{"interleaving", "interleav*|nps4|nps|one dimm|single dimm|memory channel*|dimm*"},
		{"relaxed", "relaxed order*|relax order|pci wr ordering|ro bit|relaxed"},
		{"profile", "roce profile|nic profile|performance profile|support rdma|nic_profile|firmware profile|rdma profile|profile"},
		{"readrequest", "max read request|maxreadreq|mrrs|read request size|max payload|maxpayload"},
	}
}
