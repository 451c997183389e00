package diagnose

// proseWords are what people write in full sentences where a program prints a name: more ways of naming the
// concepts of the other lists, and some that only sentences hold.
func proseWords() []concept { return append(proseOfRuns(), proseOfHardware()...) }

// proseOfRuns are of runs: who is slow, how a job was started, what it runs over.
func proseOfRuns() []concept {
	return []concept{
		{"cliff", "caves in|cave in|caved in|crumbles|dives"},
		{"straggler", "straggler*|wait* for it|waits for node|everybody wait*|everyone wait*|culprit|black sheep|drag*|hold* everybody back|hold* everyone back|hold* back|hold* the job back|weakest|odd one out|slow one|bad apple|laggard|lags behind|slow everything down|pull* everything down|pull* the ring down"},
		{"allpartners", "involving|anything with|add* node|everything with|everything involving|any subset with|any subset that|any group with|any set with|any ring with|any job on|everything that touch*|each test with|bisecting the node*|bisecting the host*|with it in|once it join*"},
		{"without", "leaving it out|left it out|without it|without that one|minus node|when it is drained|swapping it|exchange the node|replaced it by|for a spare"},
		{"fine", "fast|quick|full again|at rate|in order|as usual|as before|makes line rate|at full rate|all right"},
		{"slow", "as long as|1.5x as long|1.6x as long|2x as long|twice as long|longer than on|stops at|stop at|holds at|gets stuck at"},
		{"trouble", "not function|malfunction*|gives up|bails out|can not be used"},
		{"compute", "matmul|gemm|dgemm|hgemm|flops|tflops|kernel time|compute|gpu burn|gpu-burn|cublas|step compute|arithmetic"},
		{"vm", "instance|cloud instance|libvirt|hostdev|vmx|guest os|virtual server|xen|nutanix|proxmox"},
		{"launcher", "launcher|mpirun|mpiexec|srun|sbatch|ssh|sudo|pdsh|mpich|hydra|orted|prted|prterun|kubectl exec|bashrc|bash profile|profile.d|login shell|my shell|the shell|job script|ray|torchrun|deepspeed launcher|mpijob|pytorchjob|launching shell|pmix|docker exec"},
		{"remote", "worker replica|worker pod*|worker node*|remote process*|remote node*|remote rank*|other rank*|other node*|other host*|second host|second node|worker|workers|rank 8|rank 1|host2|node2|host 2|node 2|over ssh|far end|children"},
		{"vanishes", "strip*|lose*|get lost|nowhere else|swallow*|not take over|not hand*|not arrive*|drop|dropped|empty|not inherit*|forget*|forgot*|not carry|not survive*|cleared|clean environment|scrub*|fall* back to default*|use default*"},
		{"variables", "export|nccl variable*|nccl env|nccl setting*|envvar*|env var*|what i set|what i export*|printenv|my setting*|nccl_socket_ifname|nccl_ib_hca|nccl_*"},
		{"socket", "plain ethernet|kernel tcp|tcp traffic|tcp stream*|tcp connection* carry|10gbe management|1gbe|over the 10g|the 10gbe|the 1g nic|the 25g management|socket plugin"},
		{"subset", "quarter of the rail*|half of the rail*|half the rail*|third of the rail*|two rails hot|rails cold|cold rail*|sit unused|sits unused|share a single nic|share one nic|found 1 hca|only found 1|hca: 1 only|see no byte*|rails carry nothing|one hca per node only"},
		{"twin", "two macs|two mac address*|both logical interface*|two logical interface*|of both interface*|of the two roce"},
		{"bond", "slave|slaves|member port|xmit hash policy|transmit hash policy|bond member*|port channel member|team|teaming|lacp"},
		{"hash", "single slave|one leg|a single member|one physical member|other slave|member idle"},
		{"upstream", "above it|further up|uplink port of the switch|one level up|two levels up|switch upstream port|parent bridge|retimer"},
		{"misaligned", "distant nic*|distant hca*|random nic*|at random|inter socket|intersocket|of the other cpu|on the other cpu|another root port|different root port|not the ones close|not close to|far from the gpu|far from its gpu|crosses the socket*|far nic*|foreign nic|nic of the neighbour*|wrong side of"},
		{"flat", "no pcie bridge*|no bridges|sees no bridge*|no switches|on bus 00|bus 00|one pci level|just one level|only one level|single level|speed unknown|unknown speed|under pcie root|directly on pcie root|no affinity between|hides the plx|hide the plx|flattened|flatten*|all in one pci*|bridges invisible|bridge* are not visible"},
		{"topofile", "virtualtopology.xml|virtualtopology|nvidia topologyd|topologyd|topo definition|topo file*"},
		{"xml", "hand written topology|handwritten topology|topology graph|dumped graph|dumped topology|hand edited|topology document|xml parser|parser"},
		{"mtu", "9k frame*|9k packet*|large ping*|big ping*|large frame*|big frame*|frames of 9000|1518|ping s 8*|large packet*|big packet*"},
		{"loss", "buffer overflow|buffer on the leaf overflow*|overflow*|overrun|overruns|runs out of buffer*|nack*"},
		{"qosclass", "lossy queue|lossy class|lossy priority|unprotected class|unprotected queue|tc1|tc3|tc2|tc5|tc6"},
		{"class0", "lossy queue|lossy class|unprotected queue"},
		{"arp", "lladdr|who has|is at of|weak host model|wrong port respond*|wrong nic respond*|wrong nic answer*|wrong interface answer*|wrong interface respond*|answered by the wrong|answers from the wrong|wrong card answer*|arp who has|two ips of|same mac for|reply with the mac"},
		{"route", "main table|routed|not routed to|ip r get|next hop|nexthop|no path to|path to the peer*|per interface routing|per interface table"},
		{"linkdown", "no link light|link light|notconnect|err disable*|error disable*|not inserted|module not present|no module|not present in port|no transceiver|no optic|link lost|led off|led is off|stays dark|admin shut"},
		{"gid", "gid table entry|ipv4 mapped gid|mapped gid|gid entries"},
		{"pkey", "partial member*|tenant isolation|bad pkey|guid of node"},
		{"settings", "via env|pinned the ring|channels via env|debug session|debug variable*|tuning vars|tuning knobs|nccl knobs|p2p was turned off by an env|env override*"},
		{"alltoall", "all2all|alltoallv|dispatch|moe dispatch|expert parallel*|all to allv"},
		{"nvlink", "nv link*|nvlinks|nv links|nvswitch tray|nvlink tray|nvlink bridge*"},
		{"fewerlinks", "only part of|part of its|not seated|fewer lanes|lost link*"},
	}
}

// proseOfHardware are of switches, GPUs, drivers and what is installed.
func proseOfHardware() []concept {
	return []concept{
		{"oneleaf", "under one tor|under a single tor|one tor|on one leaf switch|on one leaf|nodes under one|same top of rack"},
		{"oversub", "spine tier|narrow spot|trunk|spine layer|elephant*|fewer uplink*|northbound|upward link*|links up to the spine|half the capacity|spine cable*|spine capacity|uplinks than"},
		{"throttle", "drops its frequency|lgc|locked clock*|locked gpu clock*|gets hot|slow clock*|fan failed|failed fan"},
		{"gpuclock", "frequency|application clock*|sclk|watt|boost clock*|core clock*|gpu clock*|sm clock*|clock|clocks|mhz|clock event*|clocks event*|temperature|fan|fans|graphics clock*"},
		{"unlimited", "unlimited|infinity"},
		{"oscontrolled", "os controlled|mode os|host controlled|controlled by the os|controlled by the host"},
		{"picked", "picks|picked|chooses|chose|took|goes over|sends over|selects"},
		{"interleaving", "channels have modules|memory slot*|slots empty|memory module*|dram module*|sub numa|snc|snc2|snc4|memory controller*|ram bandwidth|memory bandwidth of the server|stream give*|dram bandwidth|memory bank*|half of its memory"},
		{"relaxed", "ro is turned on|ro turned on|ro on|until ro|ro off|with ro|without ro|enable ro|relaxed order"},
		{"fabricmanager", "cudaerrorsystemnotready|systemnotready|fm is|fm service|the fm|nvidia fm"},
		{"gpufault", "seven gpus are listed|nouveau|unable to determine the device handle|cuda is not available|cuda.is_available is false|is available is false|is available false|gpu dropped|gpu vanished|dkms did not|dkms build failed"},
		{"sriov", "virtual functions are still|vfs are still|vf still enabled|sriov numvfs|numvfs|vfs left|virtual functions left"},
		{"passthrough", "whole card|hand in the pf|hand over the pf|whole adapter|pf is given|assign the pf|the pf to|attach"},
		{"switchos", "qm9700|qm8700|qm8790|qm9790|sn5600|sn4700|sn3700|quantum|quantum 2|cumulus|nvos|managed switch software|switch nos|firmware of the switch|switch code"},
		{"old", "not updated|years old|behind the|too far behind|from 2019|from 2020|from 2021|from 2018|wants|needs newer|older than|lags the firmware"},
		{"uidown", "vcenter list*|vcenter display*|vsphere list*|adapter as disconnected|ui lists|esxi list*|esxi ui|vsphere client"},
		{"mad", "ibnetdiscover|perfquery|smpquery|saquery|ibdiagnet|ibping|ibtracert|sminfo|ibswitches|iblinkinfo"},
		{"linkerrors", "symbolerrorcounter|linkerrorrecoverycounter|portrcverror*|linkdownedcounter|physical ber|effective physical error*|physical error*|effective error*|phy error*|symbolerror*|port rcv error*|cable is damaged|bent|kink*"},
		{"optic", "optical module|optics|optic|transceiver|fibre|fiber|dac|aoc|sfp|qsfp|osfp|cable"},
		{"onerail", "one out of eight rail*|one of eight rail*|one of the eight rail*|one rail of|one of the rail*|a single rail|one out of the eight|one port out of"},
		{"cabling", "attached to leaf|attached to the wrong|attached to switch|attached to another|rail plan|cabling list|cabling plan|plug* into|lands on|land on leaf|are exchanged at|exchanged at|rails exchanged|wrong way round|cables of port|patching|cross patched|mis patched|sysname|other way round|on a different switch than|goes to the wrong"},
		{"degradedinit", "insufficient power|low power mode|slot power|power limit 27w|replugging|re plugging|plugged in after|hot inserted"},
		{"rebooted", "power cord|unplugged from power|unplug it from power|pulling the power|pulling the plug|power cable|removing power|warm reboot|off the mains|cold start"},
		{"abi", "provider mismatched"},
		{"provider", "rdma core|rdma-core|verbs library|user space verbs|user space provider|userspace provider|libbnxt|libmlx5|libirdma|libibverbs"},
		{"staged", "staged|staging|bounced|copied through|copies through"},
		{"qosdiffers", "another priority than|other priority than|different priority than|another class than|other class than|different class than|another queue than"},
		{"clockfull", "full clock*|maximum clock*|max clock|at boost"},
		{"symbols", "mixed with inbox|distro rdma module*|two versions of mlx5*|inbox ib|ofed one|shadows the ofed|ib_core of|ofed mixed|both mlx5_core"},
		{"build", "git bisect|nccl commit|a commit|nccl libraries|unlike nccl|debug=1|debug = 1|libnccl of|distro package|from the distro|nccl package"},
		{"plugin", "gib|tcpxo|tcpx|efa provider|nccl_net_plugin|libnccl-net.so|api v7|plugin api"},
		{"mpibuild", "libmpi|linked to libmpi|linked with mpi|mpi 1 at make"},
		{"banner", "thinks it is alone|thinks it s alone|all processes report rank 0|all report rank 0|starts sixteen|starts eight|starts 16 single*|header shows up|header appear*|no rank 1|sixteen single|eight single"},
		{"abovewire", "physically not possible|physically impossible|beat* the wire|beat* the line|beyond the network|can not be real|more than physics|how can it be|bound is broken"},
		{"wire", "nic sum|nics sum|sum of the nic*"},
		{"tree", "nvls tree|nvls"},
		{"numabalancing", "balancing of numa|task_numa_fault|numa fault*|migrate pages|migrate_pages|balancing of memory|page balancing"},
		{"affinity", "run on socket|running on socket|runs on socket|run on numa|run on core*|runs on core*|core per task|cores per task|core per rank|fight for a core|same core|all on one core|cpumask"},
		{"firstuse", "spike*|repeat run|the first time|first all reduce|not reproducible|hiccup|lazy connection|odd row|row odd|w 50|w 100|on repeat*|one time only|once only"},
		{"firewall", "self referencing|security rule*|just port 22|only port 22|only ssh|ephemeral port*|nothing but ssh|port 22 only|acl|acls|packet filter|egress rule*|inbound|port is filtered|policy on input|drop policy"},
		{"memlock", "pin_user_pages|pin user pages|lock pages|locking memory|limits.conf|non root user*|locked page*|mlock"},
		{"iommu", "swiotlb|bounce buffer*|default domain type|intel_iommu*|amd_iommu*|iommu translat*|dma domain|io page table*|dma through page table*"},
		{"model", "simple rings|no entry of|in its table|not in its table|does not know this chassis|does not know the chassis|unrecognized|unrecognised|unknown chassis|default rings|not match any known"},
		{"near", "on the same pcie switch|same plx"},
	}
}

// proseRules are what sentences say that name no tool and no setting.
func proseRules() []textRule {
	return append(proseHostRules(), proseNetworkRules()...)
}
