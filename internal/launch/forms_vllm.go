package launch

import "railwright.dev/railwright/internal/fabric"

// vllmForms are lines of vLLM: vllm/v1/worker/gpu_worker.py and gpu_model_runner.py, v1/core/kv_cache_utils.py,
// v1/engine/core.py and utils.py, model_executor/model_loader, compilation, entrypoints, and of its engine before V1
// worker/worker.py and executor; 0.4 to 0.33, which writes the size of the cache and the concurrency in one line.
func vllmForms() []form {
	forms := []form{
		{text: "vLLM API server version", does: restart, stage: fabric.StageStart},
		{text: "vLLM server version ", does: restart, stage: fabric.StageStart}, // where its logo is turned off, as of 0.20
		{text: "█  version ", does: inside, stage: fabric.StageStart},           // the logo
		{text: "args: Namespace(", does: inside, stage: fabric.StageStart, gets: []field{{key: "tensor_parallel_size=", what: "tp"}, {key: "pipeline_parallel_size=", what: "pp"}}},
		{text: "non-default args:", does: restart, stage: fabric.StageStart, gets: []field{
			{key: "'tensor_parallel_size': ", what: "tp"}, {key: "'pipeline_parallel_size': ", what: "pp"}, {key: "'data_parallel_size': ", what: "dp"},
			{key: "'nnodes': ", what: "nodes"}, {key: "'node_rank': ", what: "node_rank"}, {key: "'port': ", what: "port"},
			{key: "'gpu_memory_utilization': ", what: "mem_fraction"},
		}},
		{text: "Automatically detected platform", does: inside, stage: fabric.StageStart},
		{text: "LLM engine (v", does: inside, stage: fabric.StageStart, gets: []field{
			{key: "tensor_parallel_size=", what: "tp"}, {key: "pipeline_parallel_size=", what: "pp"}, {key: "data_parallel_size=", what: "dp"}, {key: "max_seq_len=", what: "context", unit: tokens},
		}},
		{text: "world_size=* rank=*distributed_init_method=", does: begins, stage: fabric.StageInit, gets: []field{{key: "world_size=", what: "world"}}},
		{text: "DP group leader: node_rank=", does: begins, stage: fabric.StageInit, gets: []field{{key: " world_size=", what: "world"}, {key: "node_rank=", what: "node_rank"}}},
		{text: "vLLM is using nccl==", does: inside, stage: fabric.StageInit},
		{text: "Started a local Ray instance", does: begins, stage: fabric.StageInit},
		{text: "Connecting to existing Ray cluster", does: begins, stage: fabric.StageInit},
		{text: "Creating placement groups for data parallel", does: begins, stage: fabric.StageInit},
		{text: "rank * in world size * is assigned as DP rank", does: inside, stage: fabric.StageInit, gets: []field{{key: "in world size ", what: "world"}}},
		{text: "Starting to load model", does: begins, stage: fabric.StageWeights},
		{text: "attention backend out of potential backends", does: inside, stage: fabric.StageWeights}, // chosen as the layers are built
		{text: "Expert parallelism is enabled", does: inside, stage: fabric.StageWeights},
		{text: "Time spent downloading weights for", does: inside, stage: fabric.StageWeights},
		{text: "Loading weights took", does: inside, stage: fabric.StageWeights, gets: []field{{key: "Loading weights took ", what: "load", unit: seconds}}},
		{text: "Model loading took", does: ends, stage: fabric.StageWeights, gets: []field{{key: "Model loading took ", what: "weights", unit: gib}, {key: " seconds", what: "model_load", unit: seconds, last: true}}},
		{text: "Loading model weights took", does: ends, stage: fabric.StageWeights, gets: []field{{key: "weights took ", what: "weights", unit: gib}}},
		{text: "for vLLM's torch.compile", does: begins, stage: fabric.StageCompile},
		{text: "Dynamo bytecode transform time", does: inside, stage: fabric.StageCompile},
		{text: "Cache the graph ", does: inside, stage: fabric.StageCompile},
		{text: "Compiling a graph for", does: inside, stage: fabric.StageCompile},
		{text: "torch.compile took ", does: ends, stage: fabric.StageCompile, gets: []field{{key: "torch.compile took ", what: "compile", unit: seconds}}},
		{text: "torch.compile takes ", does: ends, stage: fabric.StageCompile, gets: []field{{key: "torch.compile takes ", what: "compile", unit: seconds}}},
		{text: "Profiling CUDA graph memory", does: begins, stage: fabric.StageKV},
		{text: "Estimated CUDA graph memory", does: inside, stage: fabric.StageKV, gets: []field{{key: "graph memory: ", what: "graph_estimate", unit: gib}}},
		{text: "CUDA graph memory profiling is enabled", does: inside, stage: fabric.StageKV},
		{text: "Starting profile run for", does: begins, stage: fabric.StageKV},
		{text: "Memory profiling takes ", does: begins, stage: fabric.StageKV},
		{text: "model weights take ", does: inside, stage: fabric.StageKV, gets: []field{
			{key: "weights take ", what: "weights", unit: gib}, {key: "non_torch_memory takes ", what: "non_torch", unit: gib},
			{key: "peak memory takes ", what: "activations", unit: gib}, {key: "KV Cache is ", what: "kv", unit: gib},
		}},
		{text: "Available KV cache memory:", does: inside, stage: fabric.StageKV, gets: []field{{key: "cache memory: ", what: "kv", unit: gib}}},
		{text: "KV cache size: ", does: ends, stage: fabric.StageKV, gets: []field{{key: "cache size: ", what: "kv_tokens", unit: tokens}}},
		{text: "# GPU blocks:", does: ends, stage: fabric.StageKV, gets: []field{{key: "GPU blocks: ", what: "gpu_blocks", unit: "blocks"}}},
		{text: "# cuda blocks:", does: ends, stage: fabric.StageKV, gets: []field{{key: "cuda blocks: ", what: "gpu_blocks", unit: "blocks"}}},
		{text: "Maximum concurrency for", does: ends, stage: fabric.StageKV, gets: []field{{key: "concurrency for ", what: "context", unit: tokens}, {key: "per request: ", what: "concurrency", unit: "requests"}}},
		{text: "Capturing the model for CUDA graphs", does: begins, stage: fabric.StageGraphs},
		{text: "Capturing cudagraphs for decoding", does: begins, stage: fabric.StageGraphs},
		{text: "Capturing CUDA graph", does: begins, stage: fabric.StageGraphs},
		{text: "cuda graph addresses", does: inside, stage: fabric.StageGraphs},
		{text: "Graph capturing finished in", does: ends, stage: fabric.StageGraphs, gets: []field{{key: "finished in ", what: "graphs", unit: seconds}, {key: "took ", what: "graph_mem", unit: gib}}},
		{text: "CUDA graph pool memory:", does: ends, stage: fabric.StageGraphs, gets: []field{{key: "pool memory: ", what: "graph_mem", unit: gib}, {key: " GiB (estimated)", what: "graph_estimate", unit: gib, last: true}}},
		{text: "Actual usage is * for consumed memory", does: ends, stage: fabric.StageGraphs, gets: []field{{key: "Actual usage is ", what: "consumed", unit: gib}, {key: "memory (weights + non-torch), ", what: "activations", unit: gib}, {key: "kv cache memory in use is ", what: "kv", unit: gib}}},
		{text: "init engine (profile, create kv cache", does: ends, stage: fabric.StageGraphs, gets: []field{{key: " took ", what: "init_engine", unit: seconds}}},
		{text: "Starting vLLM server on", does: inside, stage: fabric.StageGraphs},
		{text: "Starting vLLM API server", does: inside, stage: fabric.StageGraphs},
		{text: "Available routes are", does: inside, stage: fabric.StageGraphs},
		{text: "KV cache is needed", does: facts, gets: []field{
			{key: " GiB KV cache is needed", what: "kv_needed", unit: gib, last: true}, {key: "KV cache memory (", what: "kv", unit: gib}, {key: "seq len (", what: "context", unit: tokens},
		}},
		{text: "on startup is less than desired", does: facts, gets: []field{{key: "Free memory on device cuda:", what: "device"}, {key: " GiB) on startup", what: "memory", unit: gib, last: true}}},
		{text: "Waiting for * local, * remote core engine proc(s)", does: beat},
		{text: "Waiting for * core engine proc(s) to start", does: beat},
		{text: "Waiting for creating a placement group", does: beat, stage: fabric.StageInit},
		{text: "No available shared memory broadcast block found", does: beat},
		{text: "No available block found in * second", does: beat},
	}
	for i := range forms {
		forms[i].engine = vllm
	}
	return forms
}

// commonForms are lines of what both use: uvicorn, tqdm, torch and NCCL.
func commonForms() []form {
	return []form{
		{text: "Uvicorn running on", does: isReady, stage: fabric.StageReady},
		{text: "Application startup complete", does: isReady, stage: fabric.StageReady},
		{text: "\"POST /v1/* 200", does: isServed, stage: fabric.StageServing},
		{text: "POST /v1/* HTTP/1.1\" 200", does: isServed, stage: fabric.StageServing},
		{text: "\"POST /generate* 200", does: isServed, stage: fabric.StageServing},
		{text: "Loading safetensors", does: begins, stage: fabric.StageWeights},
		{text: "Loading pt checkpoint", does: begins, stage: fabric.StageWeights},
		{text: "Using model weights format", does: inside, stage: fabric.StageWeights},
		{text: "Multi-thread loading", does: begins, stage: fabric.StageWeights},
		{text: "Capturing batches", does: begins, stage: fabric.StageGraphs},
		{text: "it/s]", does: bar},
		{text: "s/it]", does: bar},
		{text: "it/s, ", does: bar},
		{text: "s/it, ", does: bar},
		{text: "waiting to acquire lock on", does: beat},
		{text: "Traceback (most recent call last)", does: opens},
		{text: "\", line ", does: opens},
		{text: "NCCL version ", does: facts, stage: fabric.StageInit},
		{text: "NCCL INFO Using network ", does: facts, stage: fabric.StageInit},
		{text: "NET/IB : Using [", does: facts, stage: fabric.StageInit},
		{text: "NET/IB : No device found", does: remark, stage: fabric.StageInit, kind: "no-rdma-device"},
		{text: "NET/Socket : Using [", does: remark, stage: fabric.StageInit, kind: "nccl-sockets"},
		{text: "Failed to open libibverbs.so", does: remark, stage: fabric.StageInit, kind: "no-libibverbs"},
		{text: "[Gloo] Rank * is connected to", does: inside, stage: fabric.StageInit},
		{text: "ProcessGroupNCCL initialization options", does: inside, stage: fabric.StageInit},
		{text: "Init COMPLETE", does: inside, stage: fabric.StageInit},
	}
}
