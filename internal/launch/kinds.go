package launch

import (
	"maps"
	"slices"
)

// kind is what a failure is called, what it means and what helps.
type kind struct{ title, means, fix string }

// kindOf describes a kind of failure.
func kindOf(name string) kind {
	if k, ok := kinds()[name]; ok {
		return k
	}
	return kind{title: "an error that is of no known kind", means: "The line says what happened; what it means for the launch is unknown."}
}

func kinds() map[string]kind {
	all := memoryKinds()
	for _, part := range []map[string]kind{engineKinds(), machineKinds(), rankKinds()} {
		for name, k := range part {
			all[name] = k
		}
	}
	return all
}

// Kind is a kind of failure, or of remark, of a launch.
type Kind struct {
	ID    string
	Title string
	Means string
	Fix   string // what helps; empty: the line of the failure says it
}

// Kinds describes all kinds of failures and of remarks, each in the order of their ids.
func Kinds() []Kind {
	var all []Kind
	for _, named := range []map[string]kind{kinds(), remarkKinds()} {
		for _, id := range slices.Sorted(maps.Keys(named)) {
			all = append(all, Kind{id, named[id].title, named[id].means, named[id].fix})
		}
	}
	return all
}

// remarkKinds are what is worth saying of a launch that did not fail for it.
func remarkKinds() map[string]kind {
	return map[string]kind{
		"context-over-cache": {"the full context does not fit the KV cache", "A request of the context that the engine was started with needs more tokens than its KV cache has.", "a shorter context, more GPUs, or a KV cache of fewer bits"},
		"engine-unknown":     {"no line is of a known engine", "No line is of SGLang or vLLM: this is the server of another program, or the head of the log is missing.", "give the log from its first line"},
		"nccl-sockets":       {"NCCL uses sockets between nodes", "TCP carries what RDMA could, which costs much of the bandwidth.", "railwright check on the nodes says which NICs have no RDMA device; railwright serve lint reads what the pod asks for"},
		"no-libibverbs":      {"libibverbs is not in the image", "NCCL loads it as it starts; without it NCCL cannot use RDMA.", "an image with rdma-core"},
		"no-rdma-device":     {"NCCL found no RDMA device in the container", "The pod has none, or NCCL_IB_HCA excludes them: NCCL falls back to sockets.", "railwright serve lint reads what the pod asks for"},
		"not-planned":        {"the logs are of another engine or version than planned", "The sizes of the plan follow the rules of one engine and version, and may not hold for this one.", "plan with the version that runs"},
		"pod-missing":        {"a pod of the group has no log", "It did not start, or its log was not given.", "kubectl get pods; give the logs of all pods"},
		"weights-slow":       {"a pod still loads weights", "At the rate so far, loading goes on this long. Ranks that are done wait, and SGLang gives up when they have waited too long.", "weights on a local disk, or a longer SGLANG_UNBALANCED_MODEL_LOADING_TIMEOUT_S"},
	}
}

func memoryKinds() map[string]kind {
	return map[string]kind{
		"gpu-memory":      {"out of GPU memory", "Weights, KV cache, graphs and workspaces together are larger than the memory of a GPU.", "railwright size MODEL --machine ID --mem-fraction F says what each part takes: change the memory fraction, the context, the number of GPUs, or what is allocated after the KV cache"},
		"memory-fraction": {"the asked share of GPU memory is not free", "The engine wants a share of the GPU's memory that is not free when it starts: another process holds memory, or its own runtime does.", "lower --gpu-memory-utilization below free / total of the line, or end the other process (nvidia-smi)"},
		"gpu-shared":      {"another process uses the GPU", "Free memory differs between the GPUs, or changed while the engine measured it.", "nvidia-smi on that node; end what else is there"},
		"kv-too-small":    {"the KV cache does not hold one request", "One request of the full context needs more KV cache than what is left on the fullest rank.", "lower --max-model-len to what the line says, or give the cache more memory or more GPUs"},
		"host-memory":     {"out of host memory", "The memory of the host, or of the container, is used up.", "raise the pod's memory limit, or load with fewer processes"},
		"killed":          {"killed from outside (137)", "A process got signal 9, which it does not send to itself: mostly the kernel, because the container's memory limit was reached.", "kubectl describe pod: OOMKilled; raise the memory limit, or lower what loading needs"},
	}
}

func engineKinds() map[string]kind {
	return map[string]kind{
		"weights-gated":            {"no right to read the weights", "The model is gated, or the token is missing or has no right to it.", "accept the model's terms, and give the pod a token from a Secret as HF_TOKEN"},
		"weights-missing":          {"weights are not there", "The name or the folder of the model is wrong, or files are missing in it.", "look into the volume from a pod; compare with the repository's list of files"},
		"weights-download":         {"weights cannot be downloaded", "The hub is not reached from the pod.", "download before, with a Job, to a volume; set a proxy where one is needed"},
		"weights-broken":           {"a file of the weights is damaged", "A file is cut off or is not what its name says, such as a pointer of Git LFS.", "compare sizes and checksums with the repository; download again"},
		"weights-mismatch":         {"the weights do not fit the model's code", "Names or shapes of tensors are not those that the engine expects: another version, or a quantisation that it reads otherwise.", "use the engine version that the model's card names"},
		"unsupported-model":        {"the engine does not know this architecture", "This version of the engine or of transformers has no code for the model.", "use an image of a newer version"},
		"unsupported-quantisation": {"the quantisation is not supported here", "The engine cannot run this quantisation on this GPU, or with so many ranks.", "railwright size says which sizes divide the blocks; else take another checkpoint"},
		"unsupported-gpu":          {"the image has no code for this GPU", "A kernel was not built for this GPU's architecture.", "use an image that was built for it"},
		"attention-backend":        {"no attention backend fits", "The attention backend does not take this model, type or GPU.", "choose another one with the engine's flag"},
		"weights-lock":             {"the download of the weights waits for a lock", "Another process downloads into the same folder, or one that was killed left its lock file there (huggingface_hub).", "end the other process; else delete the *.lock files below the cache's download folder"},
		"image-pull":               {"the image cannot be pulled", "The node does not get the image: its name or tag is wrong, the registry is not reached, or the pod has no right to it.", "kubectl describe pod: its events say which; correct the name, or give the pod an imagePullSecret"},
		"remote-code":              {"the model needs its own code", "The repository has Python code that the engine runs only if told to.", "read that code, then add --trust-remote-code"},
		"layout":                   {"the model does not divide by this number of ranks", "Heads, experts or blocks do not divide by the parallel sizes.", "railwright size MODEL lists the sizes that work"},
		"context":                  {"the asked context is longer than the model's", "The context is longer than what the model's configuration gives.", "lower --max-model-len or --context-length"},
		"argument":                 {"an argument is wrong", "This version of the engine does not take an argument of the command line.", "compare the command with --help of this image"},
		"dependency":               {"a library or program is missing", "A module or library is not in the image, or is of another version.", "use an image whose parts were built together"},
		"jit-build":                {"a kernel could not be compiled", "A kernel that is built at the start could not be built here.", "use an image with compiler and CUDA headers, or one with built kernels"},
		"warm-up":                  {"the first request failed", "The server was up, and its own first request failed.", "the lines before it say why"},
		"exception":                {"the program ended with an error", "The line says what happened; it is of no known kind.", ""},
		"exit":                     {"the container ended with an error", "Kubernetes says so; no line of its log says why.", "kubectl describe pod; kubectl logs --previous"},
		"crash":                    {"a process crashed", "A process ended by a fault in native code.", "the stack above the line, or a core dump, names the library"},
	}
}

func machineKinds() map[string]kind {
	return map[string]kind{
		"driver":         {"the GPU driver is too old", "The image's CUDA needs a newer driver than the node has.", "update the driver, or use an image of an older CUDA"},
		"no-gpu":         {"the container has no GPU", "No GPU is visible in the container.", "request GPUs in the pod; check the device plugin and the runtime class"},
		"fabric-manager": {"NVLink fabric is not up", "CUDA waits for the fabric manager of the NVSwitches.", "systemctl status nvidia-fabricmanager on that node"},
		"gpu-count":      {"too few GPUs for the number of ranks", "The engine was told to use more GPUs than it sees.", "compare the sizes with the GPUs of the pods; with Ray: that every node joined this cluster"},
		"disk-full":      {"a file system is full", "The cache or the volume has no room.", "a larger volume: railwright size says how much the files take"},
		"shared-memory":  {"shared memory cannot be used", "NCCL or torch could not make or attach its segment in /dev/shm: containers have 64 MiB by default, and ranks in several containers of a node do not share it.", "mount an emptyDir of medium Memory at /dev/shm"},
		"bus-error":      {"memory that could not be given (bus error)", "A process touched memory behind which there is nothing: /dev/shm is full, or a mapped file of the weights is cut off or its storage failed.", "df -h /dev/shm in the pod; compare the sizes of the weights' files; dmesg of the node"},
		"port-in-use":    {"a port is taken", "The address that a process wants to listen on is in use: another engine, an old process, or a port of the ephemeral range.", "see who listens (ss -ltnp); fix the port outside net.ipv4.ip_local_port_range"},
		"gpu-fault":      {"a fault on the GPU", "A kernel failed on the GPU: a fault of the hardware, or of the kernel.", "dmesg (Xid) of that node; run again with CUDA_LAUNCH_BLOCKING=1"},
		"locked-memory":  {"RDMA memory cannot be locked", "The container may not lock memory for RDMA.", "capability IPC_LOCK, or an unlimited memlock"},
		"peer-access":    {"GPUs do not reach each other", "Peer access between two GPUs of the node is not possible.", "railwright topo shows the path; --disable-custom-all-reduce avoids it"},
	}
}

func rankKinds() map[string]kind {
	return map[string]kind{
		"rank-late":         {"other ranks had not loaded their weights in time", "This rank was done and waited; others read much slower, or had failed. Its log is that of a healthy rank.", "read the logs of the slow ranks; make storage faster or fill the cache first; raise the engine's time-out (SGLang: SGLANG_UNBALANCED_MODEL_LOADING_TIMEOUT_S, --dist-timeout)"},
		"rank-missing":      {"a rank is missing", "Not all ranks came to the meeting point.", "look at the pods of the missing ranks"},
		"store-timeout":     {"ranks did not meet", "A rank waited at the meeting point (TCPStore) and others did not come or did not reach it.", "look at the pods that are missing; check the leader's address and port from a worker"},
		"store-unreachable": {"the leader is not reached", "A rank could not connect to the leader's port.", "check the address, the port and network policies; the leader may not be up"},
		"nccl-timeout":      {"a collective did not end in time", "A rank waited in a collective that others had not entered, or whose data did not arrive.", "find the rank that did not enter it; NCCL_DEBUG=INFO says which path is used"},
		"engine-timeout":    {"the engine waited for its processes in vain", "A process of the engine did not answer in time.", "the log of that process says why; raise the time-out if it was only slow"},
		"peer-lost":         {"the connection to another rank broke", "Another rank ended; this one only noticed.", "read the log of the rank that ended first"},
		"gloo-timeout":      {"Gloo's connections did not come up", "Ranks could not connect to each other over the ordinary network.", "set GLOO_SOCKET_IFNAME to one interface that all nodes reach"},
		"gloo-interface":    {"Gloo has the wrong interface", "Gloo bound to loopback or to no interface: the host name does not resolve to an address of the node, or GLOO_SOCKET_IFNAME is no interface (it takes names only, not NCCL's ^).", "set GLOO_SOCKET_IFNAME to one interface name, per node if they differ"},
		"gloo":              {"Gloo failed", "Ranks could not connect over the ordinary network.", "check GLOO_SOCKET_IFNAME and the addresses in the line"},
		"interface":         {"NCCL finds no interface", "No interface has the name that NCCL_SOCKET_IFNAME gives.", "ip -br addr in the pod; correct NCCL_SOCKET_IFNAME"},
		"leader-address":    {"the leader's address does not resolve", "The name of the leader had no address when it was asked for: its DNS record comes after the pod.", "wait for the name in the start script, and stop if it does not come"},
		"duplicate-gpu":     {"two ranks have the same GPU", "Two ranks use one GPU.", "check CUDA_VISIBLE_DEVICES and the ranks per node"},
		"ib-path":           {"a path between two RDMA ports does not work", "Queue pairs could not be connected or lost their peer: the ports are not on one network, or the GID, MTU or cabling is wrong.", "railwright check; NCCL_IB_HCA must name ports in the same order on all nodes, NCCL_IB_GID_INDEX is best left unset"},
		"ray":               {"Ray's cluster is not there", "The engine does not reach Ray's head, or versions differ.", "ray status on the head; equal versions on all nodes"},
		"ray-local":         {"Ray started a cluster of its own", "The engine started a local Ray instead of joining the cluster, so it sees only this node's GPUs.", "start it where `ray start` ran, with RAY_ADDRESS set"},
		"nccl":              {"NCCL failed", "NCCL reported an error without its reason.", "NCCL_DEBUG=INFO prints it; railwright explain reads that log"},
		"bootstrap":         {"NCCL's ranks do not reach each other", "A rank could not connect to the address at which another one listens: the wrong interface, such as a link-local one, or a firewall.", "NCCL_SOCKET_IFNAME: an interface that all nodes reach; NCCL_DEBUG=INFO prints which one each uses"},
		"nccl-version":      {"ranks have different versions of NCCL", "All ranks must load the same NCCL.", "one image for all pods"},
		"nvlink-workspace":  {"FlashInfer's all-reduce workspace cannot be made", "FlashInfer tried an all-reduce over an NVLink fabric between nodes, which is not there, and waited until its time-out.", "turn that fusion off"},
	}
}
