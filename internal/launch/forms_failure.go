package launch

import "railwright.dev/railwright/internal/fabric"

// failureForms are lines with which a process says why it ends: torch (CUDACachingAllocator.cpp, socket.cpp,
// ProcessGroupNCCL.cpp), gloo, NCCL (shmutils.cc, misc/ibvwrap.cc), huggingface_hub, transformers, safetensors, vLLM and
// SGLang. Weight 3: the line names the cause where others of the same failure name a consequence.
func failureForms() []form {
	const (
		initial = fabric.StageInit
		start   = fabric.StageStart
		weights = fabric.StageWeights
		kv      = fabric.StageKV
	)
	list := func(kind string, weight int, stage fabric.LaunchStage, texts ...string) (out []form) {
		for _, t := range texts {
			out = append(out, form{text: t, does: root, kind: kind, weight: weight, stage: stage})
		}
		return out
	}
	var all []form
	for _, part := range [][]form{
		// memory of the GPU
		list("gpu-memory", 2, "", "CUDA out of memory", "HIP out of memory", "NPU out of memory", "XPU out of memory", "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError",
			"Cuda failure 'out of memory'", "HIP failure: 'out of memory'", "HIP failure 'out of memory'", "HIP error: out of memory", "Cuda failure 2 'out of memory'", "CUDA error: out of memory", "CUDA driver error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorMemoryAllocation"),
		list("gpu-memory", 3, kv, "Not enough memory. Please try", "Loaded weights leave no GPU memory for the KV cache", "No available memory for the cache blocks", "Not enough GPU memory for the KV cache",
			"Not enough GPU memory for hybrid", "state cache is too small to serve", "SWA pool cap (* leaves no room"),
		list("gpu-memory", 3, weights, "Failed to load model - not enough GPU memory"),
		list("gpu-memory", 2, fabric.StageGraphs, "CUDA out of memory occurred when warming up sampler"),
		list("memory-fraction", 3, initial, "on startup is less than", "Externally held weights on device"),
		list("gpu-shared", 3, initial, "The memory capacity is unbalanced", "Error in memory profiling. Initial free memory", "Error in memory profiling. Initial used memory"),
		list("kv-too-small", 3, kv, "is larger than the maximum number of tokens that can be stored in KV cache", "KV cache is needed, which is larger than the available KV cache memory",
			"larger than the available KV cache memory", "SWA pool (* cannot hold even one request"),
		list("host-memory", 2, "", "DefaultCPUAllocator: can't allocate memory", "[Errno 12] Cannot allocate memory", "std::bad_alloc"),
		// weights
		list("weights-gated", 3, start, "GatedRepoError", "You are trying to access a gated repo", "Access to model * is restricted", "401 Client Error", "403 Client Error", "Client error '401", "Client error '403",
			"Invalid user token", "Invalid username or password", "is gated. You must"),
		list("weights-missing", 3, start, "RepositoryNotFoundError", "Repository Not Found for url", "is not a local folder and is not a valid model identifier", "Cannot find any model weights with",
			"Incorrect path_or_model_id", "Invalid repository ID or local directory specified", "Repo id must be in the form", "HFValidationError", "does not appear to have a file named", "LocalEntryNotFoundError",
			"EntryNotFoundError", "RevisionNotFoundError", "No safetensors weights found", "Can't load the configuration of", "Cannot find the config file", "No such file or directory: '*safetensors"),
		list("weights-download", 2, start, "couldn't connect to 'https://huggingface.co'", "OfflineModeIsEnabled", "Cannot reach https://huggingface.co", "outgoing traffic has been disabled",
			"HTTPSConnectionPool(host=", "429 Client Error", "Error while downloading from", "MaxRetryError"),
		list("weights-broken", 3, weights, "SafetensorError", "Error while deserializing header", "PytorchStreamReader failed", "invalid load key, 'v'", "MetadataIncompleteBuffer", "Consistency check failed: file should be of size"),
		list("weights-mismatch", 2, weights, "Following weights were not initialized from checkpoint", "size mismatch for", "Attempted to load weight (torch.Size", "There is no module or parameter named", "loaded_weight.shape"),
		// what the engine or the GPU cannot do
		list("unsupported-model", 3, start, "are not supported for now. Supported architectures", "Model architectures * are not supported", "Model architectures * failed to be inspected",
			"does not recognize this architecture", "has no vLLM implementation", "has no SGlang implementation", "has no SGLang implementation", "is not supported by Transformers backend", "Unsupported model architecture", "Unrecognized model in"),
		list("unsupported-quantisation", 3, start, "Unknown quantization method", "Invalid quantization method", "quantization method * is not supported for the current GPU", "is not supported for the current GPU. Minimum capability",
			"does not match the quantization method specified", "The quantization method * is not supported", "Quantization method specified in the model config", "Quantization scheme is not supported for the current GPU",
			"* quantization is currently not fully", "The input size is not aligned with the quantized weight shape", "is not divisible by weight quantization block_n", "is not divisible by weight quantization block_k",
			"No compatible quantization", "Failed to find a kernel that can implement the"),
		list("unsupported-gpu", 3, "", "no kernel image is available for execution on the device", "invalid kernel file", "invalid device function", "a PTX JIT compilation failed", "hipErrorNoBinaryForGpu", "nvcc fatal   : Unsupported gpu architecture", "nvcc fatal : Unsupported gpu architecture", "is not defined for option 'gpu-name'", "is not compatible with the current PyTorch installation",
			"Bfloat16 is only supported on GPUs with compute capability", "only supported on GPUs with compute capability", "requires compute capability", "the provided PTX was compiled with an unsupported toolchain",
			"only supports GPU with compute capability", "only supports * and newer GPUs", "requires Hopper", "requires SM90", "is not supported on this GPU"),
		list("attention-backend", 2, "", "No valid attention backend found", "Invalid attention backend for", "backend * is not supported on", "does not support head size", "Head size * is not supported by"),
		list("remote-code", 3, start, "`trust_remote_code=True`", "contains custom code which must be executed", "option `trust_remote_code", "argument `trust_remote_code", "`--trust-remote-code`"),
		list("driver", 3, start, "The NVIDIA driver on your system is too old", "CUDA driver version is insufficient for CUDA runtime version", "forward compatibility was attempted on non supported HW",
			"unsatisfied condition: cuda>=", "system has unsupported display driver / cuda driver combination", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "Driver/library version mismatch"),
		list("no-gpu", 3, start, "No CUDA GPUs are available", "Failed to infer device type", "no CUDA-capable device is detected", "Found no NVIDIA driver on your system", "No HIP GPUs are available", "could not select device driver",
			"No accelerator (CUDA", "libcuda.so.1: cannot open shared object file"),
		list("fabric-manager", 3, initial, "Error 802: system not yet initialized", "cudaErrorSystemNotReady"),
		list("gpu-count", 3, initial, "is larger than the number of available GPUs", "invalid device ordinal", "required GPUs exceeds the total number of available GPUs in the cluster", "Not enough resources to allocate DP ranks",
			"is not enough GPUs", "exceeds the number of available GPUs", "Please ensure that world_size (", "placement group specs. Please check", "Cannot provide a placement group of", "No available node types can fulfill", "Expected * GPUs but found",
			"not enough resources to allocate", "GPU count * does not match", "exceeds local GPU count", "visible devices but", "Ray does not allocate any GPUs on the driver node"),
		list("layout", 3, start, "must be divisible by tensor parallel size", "must be divisible by tp_size", "is not divisible by tensor parallel size", "tp_size must be divisible by number of nodes", "must be divisible by pipeline",
			"should be divisible by tp_size", "should be divisible by dp_size", "is not divisible by tp_size", "number of experts * must be divisible", "must be divisible by the number of", "is not divisible by", "must be divisible by tp", "should be divisible by"),
		list("context", 3, start, "is greater than the derived max_model_len", "longer than the derived context", "exceeds the derived context length"),
		list("argument", 3, start, "error: unrecognized arguments", ": error: argument ", "error: the following arguments are required", "error: ambiguous option", "No such option:", ": error: invalid choice"),
		// the machine
		list("disk-full", 3, "", "o space left on device", "Disk quota exceeded", "Not enough free disk space to download"),
		list("shared-memory", 3, initial, "Error while creating shared memory segment", "/dev/shm*o space left on device", "o space left on device*/dev/shm", "unable to allocate shared memory(shm)", "insufficient shared memory (shm)",
			"unable to mmap * bytes from file </torch_", "Error while attaching to shared memory segment", "unable to resize file </torch_", "Out of space in /dev/shm"),
		list("bus-error", 3, "", "Bus error (core dumped)", "Fatal Python error: Bus error", "signal: bus error", "SIGBUS"),
		list("image-pull", 3, start, "Error response from daemon: manifest", "Error response from daemon: pull access denied", "pull access denied for", "manifest unknown"),
		list("port-in-use", 3, start, "ZMQError: Address already in use"),
		list("port-in-use", 3, initial, "EADDRINUSE", "ddress already in use", "Port * is already in use", "error while attempting to bind on address", "Port is already in use. dist_init_port"),
		list("killed", 2, "", "xit code -9", "xit code: -9", "exitcode=-9", "exitcode: -9", "xit code: 137", "xit code 137", "exited with code 137", "OOMKilled", "SIGKILL", "received signal 9", "died from signal 9", "signal: 9 (SIGKILL)",
			"terminated with -9", "The node was low on resource", "oom-kill", "Out of memory: Killed process"),
		list("gpu-fault", 2, "", "an illegal memory access was encountered", "uncorrectable ECC error", "unspecified launch failure", "device-side assert triggered", "misaligned address", "GPU has fallen off the bus", "NVRM: Xid", "CUDA error: unknown error", "hardware error on the device", "Memory access fault by GPU", "HSA_STATUS_ERROR"),
		list("crash", 2, "", "Segmentation fault", "Fatal Python error: Aborted", "!!!!!!! Segfault encountered", "exitcode=-11", "exit code -11", "terminated with -11"),
		list("dependency", 2, start, "ModuleNotFoundError: No module named", "ImportError: ", "undefined symbol:", "cannot import name", "version `GLIBC", "error while loading shared libraries", ": command not found", "executable file not found in $PATH", "is not installed. Please install"),
		list("jit-build", 2, "", "Error building extension", "Ninja build failed", "ninja: build stopped", "Could not find nvcc", "CUDA_HOME environment variable is not set", "Failed to find C compiler", "InductorError", "BackendCompilerFailed", "NVCC compilation failed", "out of resource: shared memory", "OutOfResources"),
		// between the ranks
		list("leader-address", 3, initial, "Invalid zmq path: tcp://:", "Name or service not known", "Temporary failure in name resolution", "Could not resolve host", "nodename nor servname provided", "can't resolve", "NXDOMAIN", "getaddrinfo() failed", "No address associated with hostname"),
		list("gloo-interface", 3, initial, "Unable to find address for:", "Gloo connectFullMesh failed*127.0.0.1", "connectFullMesh failed*remote=[127.0.0.1]", "connectFullMesh failed*remote=[::1]", "ifa != nullptr"),
		list("interface", 3, initial, "NCCL WARN Bootstrap : no socket interface found", "No interface found in the node for address", "Bootstrap : no socket interface found"),
		list("duplicate-gpu", 3, initial, "Duplicate GPU detected"),
		list("locked-memory", 3, initial, "ibv_reg_mr failed with error Cannot allocate memory", "Call to ibv_reg_mr* failed with error Cannot allocate memory", "ibv_create_qp failed with error Cannot allocate memory", "ibv_create_cq failed with error Cannot allocate memory"),
		list("ray", 2, initial, "Could not find any running Ray instance", "Ray is not initialized", "ConnectionError: ray client", "Failed to connect to GCS", "Ray version mismatch", "The current node timed out during startup", "Version mismatch: The cluster was started with"),
		list("nccl-version", 3, initial, "Mismatched NCCL version detected", "NCCL version mismatch"),
		list("nccl", 1, initial, "NCCL error in:", "RuntimeError: NCCL error", "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidUsage", "DistBackendError"),
		list("gloo", 1, initial, "Gloo connectFullMesh failed", "gloo/transport/tcp"),
		list("warm-up", 1, fabric.StageReady, "Initialization failed. warmup error", "Initialization failed. Please see the error messages above"),
		list("exception", 1, fabric.StageGraphs, "Capture cuda graph failed", "Capture CUDA graph failed"),
		list("killed", 2, "", "Killed"),
		list("exception", 1, "", "_ERROR", "Error: ", "Exception: ", "AssertionError", "RuntimeError", "NotImplementedError", "terminate called after throwing an instance", "what():  "),
	} {
		all = append(all, part...)
	}
	return all
}

// waitForms are lines of ranks that waited for others, which are not in this log or are late: mostly healthy ranks.
func waitForms() []form {
	list := func(kind string, stage fabric.LaunchStage, texts ...string) (out []form) {
		for _, t := range texts {
			out = append(out, form{text: t, does: waits, kind: kind, weight: 2, stage: stage})
		}
		return out
	}
	var all []form
	for _, part := range [][]form{
		list("rank-late", fabric.StageWeights, "could finish the model loading, but there are other ranks that didn't"),
		list("store-timeout", fabric.StageInit, "The client socket has timed out after", "waitForInput: socket * timed out after", "waitForInput: poll for socket", "waiting for clients. * clients joined", "in store based barrier", "wait timeout after * keys", "Timed out after * seconds waiting for clients", "DistStoreError", "Socket Timeout",
			"DistNetworkError: The client socket", "Timeout waiting for worker ports from node 0", "TCP client failed to connect/validate to host", "failed to connect to * after * retries", "store->get", "wait for clients"),
		list("nccl-timeout", "", "Watchdog caught collective operation timeout", "Some NCCL operations have failed or timed out", "Collective operation timeout", "ran for * milliseconds before timing out"),
		list("engine-timeout", "", "Timed out waiting for engine", "did not become ready within", "Did not receive response from front-end process within", "Timed out waiting for engines to send initial message", "engine core processes did not start", "RPC call to * timed out", "Watchdog timeout (", "watchdog timeout (", "sample_tokens timed out", "execute_model timed out"),
		list("peer-lost", "", "ncclRemoteError", "a remote process exiting prematurely", "Connection closed by remote peer", "connection closed by peer", "Connection reset by peer", "socketProgress: Connection closed", "recvBytes", "Connection closed by peer", "NCCL communicator was aborted", "Broken pipe"),
		list("gloo-timeout", fabric.StageInit, "Gloo*timed out connecting", "Timed out waiting * for recv", "Timed out waiting * for send", "gloo/transport/tcp/unbound_buffer.cc*Timed out waiting"),
	} {
		all = append(all, part...)
	}
	return all
}

// effectForms are lines with which a process ends because another one failed. Those of weight 1 are printed only where the
// engine dies; the others also where a person ends it.
func effectForms() []form {
	var all []form
	for _, t := range []string{
		"Received sigquit from a child", "Scheduler hit an exception", "TpModelWorkerClient hit an exception", "Engine core initialization failed", "EngineCore failed to start", "EngineCore encountered a fatal error",
		"EngineCore encountered an issue", "WorkerProc failed to start", "WorkerProc failed.", "RayWorkerProc failed", "scheduler died during initialization", "subprocess exited with code", "crashed with exit code", "while processing method start_worker_execution_loop", "SIGQUIT received. signum", "WorkerProc hit an exception", "WorkerProc was terminated", "WorkerProc initialization failed", "EngineDeadError", "Engine process failed to start",
		"ActorHandleNotFoundError", "ActorDiedError", "RayActorError", "died unexpectedly", "Failed core proc(s)", "Scheduler or DataParallelController", "is dead. Please check if there are relevant logs",
		"RayTaskError", "ChildFailedError", "DetokenizerManager hit an exception", "Application startup failed", "died with exit code", "Error executing method", "Engine loop has died", "AsyncEngineDeadError",
	} {
		all = append(all, form{text: t, does: effect, kind: "effect", weight: 1})
	}
	for _, t := range []string{
		"xit code", "xitcode", "exited with code", "EOFError", "process group has NOT been destroyed", "Process EngineCore", "resource_tracker: There appear to be", "CUDA kernel errors might be asynchronously reported", "Exception in worker", "SystemExit",
		"KeyboardInterrupt", "Shutting down FastAPI", "Process ForkProcess", "Process SpawnProcess", "BrokenPipeError", "Exception raised from", "CancelledError",
	} {
		all = append(all, form{text: t, does: effect, kind: "effect"})
	}
	return all
}

// hintForms are lines that say why, where the launch dies or stalls; a launch that goes on has survived them.
func hintForms() []form {
	list := func(kind string, stage fabric.LaunchStage, texts ...string) (out []form) {
		for _, t := range texts {
			out = append(out, form{text: t, does: hint, kind: kind, weight: 2, stage: stage})
		}
		return out
	}
	var all []form
	for _, part := range [][]form{
		list("gloo-interface", fabric.StageInit, "Unable to resolve hostname to a (local) address"),
		list("ray-local", fabric.StageInit, "Started a local Ray instance"),
		list("gpu-count", fabric.StageInit, "number of required GPUs exceeds the total number of available GPUs"),
		list("ib-path", fabric.StageInit, "ibv_modify_qp failed with 110", "ibv_modify_qp failed with error Connection timed out", "ibv_modify_qp failed with error No route to host", "ibv_modify_qp failed with 113", "ibv_modify_qp failed with 61",
			"ibv_modify_qp failed with error No data available", "ibv_modify_qp failed", "Got completion from peer", "Got completion with status", "Got async event : port error", "transport retry counter exceeded"),
		list("shared-memory", fabric.StageInit, "NCCL WARN Error: failed to extend /dev/shm", "NCCL WARN Error while creating shared memory"),
		list("bootstrap", fabric.StageInit, "NCCL WARN socketStartConnect: Connect to", "NCCL WARN Net : Connect to", "NCCL WARN socketPollConnect:", "NCCL WARN Call to connect to", "NCCL WARN socketProgressOpt: Call to recv from"),
		list("store-unreachable", fabric.StageInit, "The client socket has failed to connect to", "The server socket cannot be initialized on"),
		list("leader-address", fabric.StageInit, "network addresses of * cannot be retrieved", "LEADER_IP= ", "LWS_LEADER_ADDRESS is not set"),
		list("nvlink-workspace", "", "Failed to initialize FlashInfer All Reduce workspace"),
		list("weights-missing", fabric.StageWeights, "Failed to get file list for"),
		list("gpu-memory", "", "CUDA_ERROR_OUT_OF_MEMORY"), // of the driver: allocators may try again with less
		list("weights-lock", fabric.StageWeights, "till waiting to acquire lock on"),
		list("image-pull", fabric.StageStart, "is waiting to start: trying and failing to pull image", "Back-off pulling image", "Failed to pull image"),
		list("peer-access", "", "peer access is not supported between these two devices"),
	} {
		all = append(all, part...)
	}
	return all
}

// frameForms are functions of the engines as tracebacks name them: each belongs to a stage.
func frameForms() []form {
	var all []form
	for stage, functions := range map[fabric.LaunchStage][]string{
		fabric.StageInit:    {"init_torch_distributed", "initialize_model_parallel", "init_distributed_environment", "init_worker_distributed_environment", "init_device", "init_parallel_runtime", "_init_parallel_groups", "_init_workers_ray", "initialize_ray_cluster"},
		fabric.StageWeights: {"load_model", "load_weights", "weight_loader", "process_weights_after_loading", "initialize_model", "_initialize_model"},
		fabric.StageKV: {"init_memory_pool", "profile_max_num_token", "determine_available_memory", "determine_num_available_blocks", "profile_run", "initialize_kv_cache", "_initialize_kv_caches",
			"_check_enough_kv_cache_memory", "get_kv_cache_configs", "allocate_kv_cache", "profile_cudagraph_memory", "_profile_available_bytes", "_resolve_memory_pool_config", "_derive_pool_sizes", "_init_pools", "_build_token_to_kv_pool"},
		fabric.StageGraphs: {"init_device_graphs", "init_cuda_graphs", "capture_one_batch_size", "_capture_one_stream", "capture_model", "compile_or_warm_up_model", "_compile_or_warm_up_model", "capture_cuda_graphs", "capture_prefill_graph", "capture_decode_graph", "kernel_warmup"},
		fabric.StageReady:  {"_execute_server_warmup", "_wait_and_warmup"},
	} {
		for _, f := range functions {
			all = append(all, form{text: " in " + f, does: frame, stage: stage})
		}
	}
	return append(all, form{text: "Exception ignored in", does: aside})
}
