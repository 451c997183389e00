package mcp

// The arguments of the tools. Descriptions are for the language model that fills them in. A zero is an argument that was
// not given, as for the flags.

// hardware describes the machines of a prediction or an explanation.
type hardware struct {
	Machine          string  `json:"machine,omitempty" jsonschema:"machine of the catalog"`
	GPU              string  `json:"gpu,omitempty" jsonschema:"GPU of the catalog, where no machine determines it"`
	Nodes            int     `json:"nodes,omitempty" jsonschema:"number of machines"`
	GPUs             int     `json:"gpus,omitempty" jsonschema:"GPUs in use per machine"`
	NICs             int     `json:"nics,omitempty" jsonschema:"NICs of the fabric per machine"`
	Rate             float64 `json:"rate,omitempty" jsonschema:"line rate of a NIC in Gb/s"`
	Net              string  `json:"net,omitempty" jsonschema:"network between the machines"`
	CPU              string  `json:"cpu,omitempty" jsonschema:"CPU of the machines"`
	Oversubscription float64 `json:"oversubscription,omitempty" jsonschema:"downlinks over uplinks of the leaf switches, 1 to 64; omit it where there is none"`
	VM               bool    `json:"vm,omitempty" jsonschema:"the GPUs are passed through to a virtual machine"`
}

type explainInput struct {
	Paths []string `json:"paths,omitempty" call:"(operand)" jsonschema:"files below the root folder, explained together: benchmark output, debug logs, table files"`
	Text  string   `json:"text,omitempty" call:"(text)" jsonschema:"the output or log itself, as it was printed, instead of a path or beside one"`
	hardware
	Cluster  string   `json:"cluster,omitempty" call:"file" jsonschema:"path of the cluster file"`
	Snapshot []string `json:"snapshot,omitempty" jsonschema:"paths of saved facts of the machines"`
	NCCL     string   `json:"nccl,omitempty" jsonschema:"version of NCCL in that run, such as 2.30.7, where no log says it"`
	Env      []string `json:"env,omitempty" jsonschema:"environment of NCCL in that run, each NAME=VALUE, such as NCCL_ALGO=Ring"`
}

type checkInput struct {
	Snapshot []string `json:"snapshot,omitempty" jsonschema:"saved facts: files, recordings, or folders of them"`
	Text     string   `json:"text,omitempty" call:"(text)" jsonschema:"saved facts of one machine themselves: JSON of railwright collect, or a recording"`
	Switch   []string `json:"switch,omitempty" jsonschema:"switches, each NAME=PATH: its configuration, or output of its show commands (SONiC, Dell Enterprise SONiC, Arista EOS, Junos)"`
	Cluster  string   `json:"cluster,omitempty" call:"file" jsonschema:"path of the cluster file; without it the rules that need a plan are not applicable"`
}

type diffInput struct {
	A          string `json:"a" call:"(operand)" jsonschema:"path of saved facts, or FOLDER:NODE"`
	B          string `json:"b" call:"(operand)" jsonschema:"path of saved facts to compare with, or FOLDER:NODE"`
	Identities bool   `json:"identities,omitempty" jsonschema:"also compare addresses, MACs and GUIDs of two different nodes"`
}

type predictInput struct {
	hardware
	Cluster    string   `json:"cluster,omitempty" call:"file" jsonschema:"path of a cluster file whose machines are predicted"`
	Like       string   `json:"like,omitempty" jsonschema:"path of a table file whose hardware, collective and sizes are predicted"`
	Topo       string   `json:"topo,omitempty" jsonschema:"path of an NCCL topology file of one machine"`
	Snapshot   string   `json:"snapshot,omitempty" jsonschema:"path of saved facts of one machine"`
	Collective string   `json:"collective,omitempty" jsonschema:"default all_reduce"`
	Sizes      string   `json:"sizes,omitempty" jsonschema:"bytes: FROM:TO, FROM:TO:FACTOR or a list with commas, with K, M, G for powers of 1024; default 8:16G"`
	Env        []string `json:"env,omitempty" jsonschema:"environment of NCCL, each NAME=VALUE, such as NCCL_ALGO=Ring"`
	Procs      int      `json:"procs,omitempty" jsonschema:"processes per machine; default one per GPU"`
	PerThread  int      `json:"per_thread,omitempty" jsonschema:"GPUs for which one thread of a process launches kernels, -g of nccl-tests; default as procs says"`
	Iterations int      `json:"iterations,omitempty" jsonschema:"launches of the test before it waits, -n of nccl-tests; default 20"`
	DType      string   `json:"dtype,omitempty" jsonschema:"type of the elements; default float"`
	Tuning     string   `json:"tuning,omitempty" jsonschema:"path of an NCCL debug log whose tuning table is used"`
	NCCL       []string `json:"nccl,omitempty" jsonschema:"version of NCCL, such as 2.30.7; two versions or more are compared: where choices move, what each size gains or loses"`
	Worker     []string `json:"worker,omitempty" jsonschema:"GPUs and NICs of workers that have part of a machine, each [MACHINE:]GPUS/NICS, such as a:0,1,6,7/0-3, or 0-3/any4 where the NICs are unknown"`
}

type claimsInput struct {
	Cluster    string   `json:"cluster,omitempty" call:"file" jsonschema:"path of a cluster file whose planned claims are tried"`
	Claims     []string `json:"claims,omitempty" jsonschema:"paths of files with ResourceClaims, ResourceClaimTemplates, DeviceClasses, Pods, StatefulSets"`
	Text       string   `json:"text,omitempty" call:"(text)" jsonschema:"such objects themselves, YAML or JSON, instead of a path or beside one"`
	Slices     []string `json:"slices,omitempty" jsonschema:"paths of files with ResourceSlices, such as the output of kubectl get resourceslices -o yaml"`
	Snapshot   []string `json:"snapshot,omitempty" jsonschema:"paths of saved facts of machines whose slices are made"`
	Machine    string   `json:"machine,omitempty" jsonschema:"machine of the catalog: its slices are made, or with slices it is what bandwidth is predicted for"`
	Nodes      int      `json:"nodes,omitempty" jsonschema:"with machine alone: number of machines; default 1"`
	Pods       int      `json:"pods,omitempty" jsonschema:"number of pods; default as the claims or the cluster file say"`
	GPUs       int      `json:"gpus,omitempty" jsonschema:"GPUs that a device plugin gives each pod; default as the containers of the pods say"`
	Template   string   `json:"template,omitempty" jsonschema:"ResourceClaimTemplate of the pods, where there are several"`
	Collective string   `json:"collective,omitempty" jsonschema:"collective whose bandwidth is predicted; default all_gather"`
	Kubernetes string   `json:"kubernetes,omitempty" jsonschema:"version of Kubernetes whose allocator decides, such as 1.34"`
}

type sizeInput struct {
	Model         string  `json:"model" call:"(operand)" jsonschema:"name of a model of the catalog, or path of a config.json or of a folder with the model's index or weights"`
	Machine       string  `json:"machine,omitempty" jsonschema:"machine of the catalog; default hgx-h100"`
	GPU           string  `json:"gpu,omitempty" jsonschema:"GPU of the catalog, instead of a machine"`
	GPUsPerNode   int     `json:"gpus_per_node,omitempty" jsonschema:"with gpu: GPUs per node; default 8"`
	Nodes         int     `json:"nodes,omitempty" jsonschema:"nodes; default as many as are needed"`
	GPUs          int     `json:"gpus,omitempty" jsonschema:"GPUs of one replica"`
	TP            int     `json:"tp,omitempty" jsonschema:"tensor parallel size"`
	PP            int     `json:"pp,omitempty" jsonschema:"pipeline parallel size"`
	EP            int     `json:"ep,omitempty" jsonschema:"expert parallel size"`
	DP            int     `json:"dp,omitempty" jsonschema:"attention replicas: inside the tensor parallel group with sglang, beside it with vllm"`
	Engine        string  `json:"engine,omitempty" jsonschema:"default sglang"`
	EngineVersion string  `json:"engine_version,omitempty" jsonschema:"version of the engine"`
	Context       int64   `json:"context,omitempty" jsonschema:"tokens of one request; default the model's full context"`
	Concurrency   int     `json:"concurrency,omitempty" jsonschema:"concurrent requests"`
	KVDType       string  `json:"kv_dtype,omitempty" jsonschema:"type of the KV cache; default the checkpoint's own"`
	MemFraction   float64 `json:"mem_fraction,omitempty" jsonschema:"fraction of a GPU's memory that the engine takes, such as 0.85"`
	Net           string  `json:"net,omitempty" jsonschema:"network between the nodes, if not the machine's own"`
	Curve         string  `json:"curve,omitempty" jsonschema:"path of a table file of a measured all_reduce over the replica's GPUs; default predicted"`
}

type topoShowInput struct {
	Path     string `json:"path,omitempty" call:"(operand)" jsonschema:"an NCCL topology file, or the output of nvidia-smi topo -m or of rocm-smi --showbus --showtopotype --showhw"`
	Text     string `json:"text,omitempty" call:"(text)" jsonschema:"the content of such a file"`
	Snapshot string `json:"snapshot,omitempty" jsonschema:"path of saved facts of a host, or FOLDER:NODE"`
	Machine  string `json:"machine,omitempty" jsonschema:"machine of the catalog"`
}

type topoLintInput struct {
	Paths []string `json:"paths,omitempty" call:"(operand)" jsonschema:"NCCL topology files; several, one per node, are compared with each other"`
	Text  string   `json:"text,omitempty" call:"(text)" jsonschema:"the content of such a file"`
}

type planInput struct {
	Cluster string `json:"cluster,omitempty" call:"file" jsonschema:"path of the cluster file"`
	Text    string `json:"text,omitempty" call:"(text)" jsonschema:"the cluster file itself, YAML"`
}

type catalogInput struct {
	Kind string `json:"kind,omitempty" call:"(operand)" jsonschema:"kind of part; without kind and name the kinds are listed"`
	Name string `json:"name,omitempty" call:"(operand)" jsonschema:"name of a part; without it the parts of the kind are listed"`
}

type ruleInput struct {
	ID string `json:"id,omitempty" call:"(operand)" jsonschema:"id of a rule, as the findings of check name it; without it all rules are listed"`
}

type causeInput struct {
	ID string `json:"id,omitempty" call:"(operand)" jsonschema:"id of a cause, as explanations and findings name it; without it all causes are listed"`
}
