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
	at := map[string]int{}
	for i, c := range all {
		at[c.name] = i
	}
	for _, c := range proseWords() {
		if i, known := at[c.name]; known {
			all[i].phrases += "|" + c.phrases
		} else {
			all = append(all, c)
		}
	}
	return all
}

// plainWords say how something is or where.
func plainWords() []concept {
	return []concept{
		{"rest", "other nic*|other hca*|other adapter*|other port*|other rail*|other node*|other host*|other gpu*|other machine*|other server*|the others|others|the rest|rest of|remaining|seven other*|other seven|all other*|its peer*|the other seven|everyone else|everything else|each of the other*"},
		{"baremetal", "bare metal|baremetal|on the host|on the hypervisor|host itself|outside the vm|outside of the vm|physical host|without virtual*|non virtual*|native"},
		{"onegpu", "one gpu|gpu 0|gpu 1|gpu 2|gpu 3|gpu 4|gpu 5|gpu 6|gpu 7|that gpu|this gpu|single gpu|a gpu"},
		{"cpuword", "cpu|cpus|core|cores|cgroup|quota|vcpus|cfs"},
		{"ping", "ping|pings|pingable|ssh|pinged"},
		{"gpuword", "gpu|gpus|card|accelerator*"},
		{"locality", "root|pcie root|socket|sockets|numa|numa node|switch|pcie switch|domain|bridge|side|root port|root complex|cpu"},
		{"trustpcp", "trust pcp|trust say* pcp|trust is pcp|trust mode pcp|trust state pcp|trust = pcp|pcp trust|trust l2|pcp instead"},
		{"headnode", "main node|head node|first node|master node|launching node|launch node|node 0|rank 0|first host|head|master|login node|node where i start*"},
		{"othernode", "worker node*|other node*|second node|remote node*|remote host*|other host*|worker|workers|second host|remote rank*|other rank*|remaining rank*|other machine*|remaining node*"},
		{"asset", "as told|as set|as exported|ignore* it|ignores the|its own|picks|chooses|env|environment|variable*|exported|setting*|interface|sends over"},
		{"instate", "enabled|loaded|running|configured|is on|are on|active|present|set up|in place|installed|available|up to date|everywhere|on all|on every|on each|match|matches|identical|consistent|same on both|symmetric"},
		{"fine", "as on bare metal|like bare metal|same as bare metal|ok|okay|fine|healthy|good|normal|clean|line rate|full rate|full speed|full bandwidth|as expected|expected rate|work|working|pass|passed|correct|near line|at speed|reference value|unaffected|no problem"},
		{"slow", "slow*|low|lower|poor|poorly|degrad*|below|less than|worse|reduced|bad|stuck at|capped|far from|underperform*|halved|drop to|dropped to|drop from|then drop*|bandwidth drop*|rate drop*|collaps*|slow down|disappoint*|half of|halves|half the|half as|only half|a quarter|a third|one third|a fraction|fraction of|sluggish*|weak|throughput fall*|fall to|fell to|falls to|fall short|falls short|short of|not even|barely|merely|a tenth|plummet*|tank*|regress*|suffers|lags|lagging|behind the|limited to|never exceed*|does not exceed|tops out|maxes out|plateau*|nowhere near|anomal*|unusual*|longer than|take* longer|takes twice|inferior|suboptimal|sub optimal|subpar|mediocre|abysmal|terrible|horrible|crawl*|starv*|bottleneck*|choke*|throughput loss|lose* half|lost half|loses a"},
		{"trouble", "error*|iberror|cuda failure|unhandled cuda error|invalid device ordinal|completion error*|connection refused|connection timed out|connect timeout|connection closed|fail*|crash*|abort*|hang|hangs|hanging|hung|timeout*|timed out|time out|not be registered|segfault*|segmentation fault|die|dies|died|freez*|frozen|deadlock*|broken|stall*|unusable|refus*|reject*|warn*|corrupt*|wrongresult|exception|abnormal*|unable to|could not|can not|not come up|not start|not power on|failed to|no such|panic*|killed|exits|exited|stuck|unresponsive|rejects|aborting|mad_rpc*|error|facing issue*|issue* with|problem* with|trouble with|having issue*|having problem*|struggl*"},
		{"hang", "hang|hangs|hanging|hung|deadlock*|freez*|stall*|never finish*|never return*|stuck"},
		{"hidden", "hide*|hidden|masks|strips|filtered out|not passed to the guest|not exposed"},
		{"wrong", "wrong*|incorrect*|bad|mismatch*|differ*|different|another|instead of|rather than|disagree*|not the same|unequal|inconsistent|misconfigur*|swapped|unexpected|stale|mixed up|false|unequal|asymmetr*|mismatched|conflicting|inverted|should be|must be|does not match|not equal|not match|unlike|contradict*|disagrees|only on one side|one side has|one side|inconsisten*|drift*|varies|vary"},
		{"onlywith", "only with|only when|only if|only for|work without|fine without|go away|disappear*|vanish*|helped by|gone with|gone when|unless|work with|works with|work when|stop when|but not with|not without|except with|except when|unless i|without it|only in gpu memory"},
		{"fixed", "fix*|help*|run through|runs to the end|completes|succeed*|full speed again|cured|solv*|resolv*|restor*|recover*|improv*|faster|back to|work then|went up|scale with|after that it|gone|works again|normal again|full bandwidth again|came back|returned to|jump* to|rise* to|rose to|doubled|went away|no more|no longer|completes now|starts now|runs now|test runs|job runs|run is fine|passes|ran fine|get* the expected|gave the expected|expected performance|what i expect*|as it should"},
		{"same", "no change|no difference|same result|unchanged|did not help|no effect|no improvement|does not help|makes no difference|no better|just as slow|identical result*|equal result*|nothing changed|no gain|still slow|still low|still fail*|does not change|did not change|makes little difference|little difference|in vain"},
		{"single", "single node|one node|1 node|intra node|intranode|within a node|within one node|inside a node|inside one node|single machine|one machine|single host|within the node|each node alone|node alone|in one machine|locally|inside the node|on one node|on a single node|within the server|inside one server|single server|one server|same node|same host|same machine|on a node|per node alone|intra host|intra server|local all reduce|nvlink only|on each node|in a single node|each node by itself|node by itself|one box|single box|in the box|on one host|on one machine|on one server|on the same host|on the same node|within one host|inside one host"},
		{"multi", "inter node|internode|two node|2 node|multi node|multinode|across node|between node|cross node|two machine|across machine|over the network|four node|4 node|two host|second node|add* a second|two hosts|two server*|cross host|cross server|between host*|between server*|over two node*|over 2 node*|on two node*|on 2 node*|3 node|8 node|16 node|32 node|multi host|multi server|over the fabric|across the network|network test|two boxes|between the boxes|across host*|across server*|2 host|2 server"},
		{"perftest", "perftest|ib write bw|ib read bw|ib send bw|ib write lat|ib write|rdma test|verbs test|verb test|rdma bandwidth test|ib bandwidth test|ib write bw test|raw rdma|rdma write test|ib perf|perf test*|rdma benchmark|rperf|rdma perf|qperf"},
		{"gpumemory", "gpu memory|device memory|use cuda|use rocm|cuda memory|gpu buffer*|with cuda|with rocm|vram|gpu buffer|hbm|gpu buffers|from the gpu|gpu to gpu rdma|gpudirect perftest|use cuda 0|--use_cuda|cuda buffer*|gpu side"},
		{"hostmemory", "host memory|system memory|cpu memory|without gpu|main memory|host buffer*|cpu buffer*|from host|host buffers|without cuda|no cuda|host side|dram|host ram"},
		{"empty", "empty|no output|no device*|list nothing|show nothing|blank|zero device*|no line*"},
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
		{"training", "training|epoch|throughput of the model|tokens per second|job|pretrain*|fine tun*|step time|iteration time|samples per second|tokens/s|tokens per sec|inference|serving|decode|prefill|mfu|deepspeed|megatron|fsdp|vllm|sglang"},
	}
}

// pathWords are of the way between a GPU and a NIC.
func pathWords() []concept {
	return []concept{
		{"gdr", "gdr on|gdr enabled|gdr is on|with gdr|gpudirect rdma on|gpudirect rdma enabled|gpudirect rdma is on|with gpudirect rdma|with gpudirect|gdrdma enabled|with gdrdma|with gpu direct rdma|using gdr|using gpudirect|gpudirect on|gpu direct rdma on|gdrdma|gdr|gpudirect rdma|gpu direct rdma|gpudirect|gpu direct|peer memory direct|gpu memory registration|direct gpu to nic|gpu rdma|rdma from gpu memory|zero copy from gpu|dma between gpu and nic|dma transfer* between gpu and nic|direct transfer* between gpu and nic|dma from gpu to nic|gpu nic dma|direct gpu nic|peer to peer dma between gpu and nic|rdma to gpu memory|rdma on gpu memory|nic reads gpu memory|direct memory access between gpu"},
		{"peermem", "peermem|nvidia peermem|nv peer mem|peer mem|peer memory|ib peer mem|peer memory client|ib register peer memory client|dma buf|dmabuf|peer memory module|amdkfd peerdirect|peerdirect|nvidia_peermem|nv_peer_mem|nv peermem|nvidia peer memory|nv_peer_memory|gdrdrv"},
		{"gdroff", "nccl_net_gdr_level = 0|nccl_net_gdr_level 0|nccl_net_gdr_level = loc|nccl_net_gdr_level=0|gdr level 0|nccl_net_gdr_disable = 1"},
		{"gdron", "gdr on|gdr enabled|gdr is on|with gdr|gpudirect rdma on|gpudirect rdma enabled|gpudirect rdma is on|with gpudirect rdma|with gpudirect|gdrdma enabled|with gdrdma|with gpu direct rdma|using gdr|using gpudirect|gpudirect on|gpu direct rdma on|gpudirect active|gdr active|gpu buffers are registered"},
		{"acs", "acs|access control service|srcvalid|srcvalid+|reqredir*|cmpltredir*|request redirect|p2p redirect|acsctl|redirect bit|acs enabled|acs redirect*|pcie acs|acs bit*|acs override|acs capability|srcvalid|upstreamfwd*|plx acs"},
		{"ats", "ats|address translation service|atsctl|ats support|ats capability"},
		{"p2p", "p2p|peer to peer|peer access|nccl_p2p_disable|p2p access|gpu to gpu"},
		{"rootcomplex", "root complex|root port|host bridge|through the cpu|via the cpu"},
		{"phb", "phb|sys|node level|all phb|host bridge distance"},
		{"near", "pix|pxb|same switch|share a switch|one switch|common switch|same pcie switch|same pci switch|share a pcie switch|behind one switch|same bridge"},
		{"distance", "distance|too far|far apart|gdr level|path type"},
		{"flat", "flat pcie|flat pci|flat topology|flat tree|flat virtual|no pcie switch*|no switch in the tree|one flat bus|one root bus|hang off one|single root bus|all behind one bus|all device* on one bus|same virtual bus|virtual pci bus|no hierarchy|no topology|topology missing|topology is not visible|topology not visible|topology hidden|directly below the cpu|directly under the cpu|directly under the root|directly below the root|every device on bus 0|all on bus 0|q35|i440fx|without pcie switch*|single pci bus|one pci bus|link_speed empty|empty link_speed|link_width 0|speed empty|numa node 1|numaid 1|numa_node 1|lspci t show* no|no plx|synthetic bus|pci hierarchy|emulated|every distance*|hides the switch*|without hierarchy|not see the switch*|not see any switch*"},
		{"topofile", "topology file|topo file|nccl_topo_file|topology description|virtual topology file|topofile|nccl_topo_file|ndv4 topo|ndv5 topo|topology xml file|custom topology|virtual topology|topo.xml|topology description file|microsoft ndv*"},
		{"xml", "xml|topology xml|topo xml|system xml|topo dump"},
		{"xmlbad", "xml mismatch|xml parse|xml parse error|xml error|expecting|ignoring element|attribute not found|version of node system|xml import|parse error|not parsed"},
		{"vm", "vm|virtual machine|guest|passthrough|pass through|passed through|hypervisor|esxi|kvm|qemu|proxmox|vsphere|vfio|cloud hypervisor|vmware|hyper v|vcpu|virtualised|virtualized"},
		{"misaligned", "misalign*|unaligned|not aligned|nic of another|nic on the other|other numa node|other numa|remote numa|cross numa|wrong numa|different numa*|other socket|across socket|no near nic|no local nic|without a near nic|no adjacent nic|far nic|wrong nic|nearest nic is not|nic of other gpu|gpu nic mismatch|not the nearest|sys between each|sys between every|sys between gpu|sys for each|sys for every|node for every|opposite socket|nic of socket|gpu of socket|socket 1|from socket|across the socket*|cross socket|upi|qpi|xgmi between socket*|wrong socket|different root*|no gpu has a|no pix|without pix|not under the same|other root complex|different switch than"},
		{"aligned", "aligned|alignment|next to its nic*|near nic|nearest nic|local nic|adjacent nic|paired with|affinity between gpu and nic"},
		{"pods", "pod|pods|resource claim|resourceclaim|claim|dra|dranet|device plugin|container|worker"},
		{"gpunic", "gpu and nic|gpu nic|nic and gpu|gpu to nic|gpu and its nic|between gpu and nic"},
		{"downgraded", "downgrad*|trained at|trained below|trained down|negotiated down|below its capability|below capability|reduced width|half width|fewer lane*|missing lane*|pcie 3.0|pcie 4.0|pcie 2.0|pcie gen3|pcie gen 3|retrained|trained to|narrow*|only at gen*|runs at gen*|link at gen*|wired at gen*|came up at gen*|came up as x*|link width x*|only x8|only x4|only x2|only x1|at x8|at x4|at x2|at x1|width x8|width x4|width x2|width x1|running at pcie|limited to pcie|speed 8gt|speed 16gt|8gt s|8 gt|16 gt|2.5 gt|5 gt|2.5gt|limited pcie|pcie limited|pcie bandwidth limited|lower generation|lower link speed|lost lanes|bifurcat*"},
		{"pcie", "pcie|pci|lnksta|lnkcap|gen1|gen2|gen3|gen4|gen 3|gen 4|gt|link width|lane|x1|x2|x4|x8|pci express"},
		{"upstream", "upstream|root port|uplink port|bridge|switch port|pcie switch|riser|switch group|parent|retimer|plx|switch uplink|above the endpoint|above it|towards the root|towards the cpu|towards cpu|to the cpu|to the root complex|switch upstream|switch to cpu|above the nic|above nic|higher up|intermediate|pex|pcie bridge*|host side link|uplink of the pcie|switch uplink|usp"},
		{"endpoint", "endpoint is fine|endpoint fine|endpoint ok|endpoint itself|device itself|full at the endpoint"},
		{"iommu", "iommu|vt d|dmar|iommu pt|smmu|dma remap*"},
		{"interleaving", "interleav*|nps4|nps|one dimm|single dimm|memory channel*|dimm*|numa per socket|nodes per socket|memory population|channels populated|one memory channel|unbalanced memory|half of the dimm*|populated|memory channel|numa nodes per socket"},
		{"relaxed", "relaxed order*|relax order|pci wr ordering|ro bit|relaxed|relaxed ordering|pci_wr_ordering|ro disabled|ordering"},
		{"profile", "roce profile|nic profile|performance profile|support rdma|nic_profile|firmware profile|rdma profile|profile|default profile|roce mode|nvm option*|performance tuning profile|dos profile|nic tuned|tuned"},
		{"readrequest", "max read request|maxreadreq|mrrs|read request size|max payload|maxpayload"},
	}
}
