package launch

import "railwright.dev/railwright/internal/fabric"

const (
	sglang = "sglang"
	vllm   = "vllm"

	gib     = "GiB"
	seconds = "s"
	tokens  = "tokens"
)

// sglangForms are lines of SGLang: python/sglang/srt/model_executor/model_runner.py, its mixins and graph runners,
// mem_cache/memory_pool.py, managers/scheduler.py, entrypoints/http_server.py and engine.py, 0.1.9 to 0.5.23, which prints
// its arguments as a dictionary (entrypoints/engine.py), starts ranks in distributed/bootstrap.py and may size the cache
// after the graphs (model_runner_components/kv_pool_runtime.py). SGLang counts in 2^30 bytes and prints GB.
func sglangForms() []form {
	avail := func(what string) field { return field{key: "avail mem=", what: what, unit: gib} }
	usage := func(what string) field { return field{key: "mem usage=", what: what, unit: gib} }
	took := func(what string) field { return field{key: "lapsed", what: what, unit: seconds} } // "elapsed=", "Time elapsed: "
	forms := []form{
		{text: "server_args=ServerArgs(", does: restart, stage: fabric.StageStart, gets: []field{
			{key: "tp_size=", what: "tp"}, {key: "pp_size=", what: "pp"}, {key: "dp_size=", what: "dp"}, {key: "ep_size=", what: "ep"},
			{key: "nnodes=", what: "nodes"}, {key: "node_rank=", what: "node_rank"}, {key: "mem_fraction_static=", what: "mem_fraction"},
			{key: " port=", what: "port"}, {key: "watchdog_timeout=", what: "watchdog", unit: seconds}, {key: "dist_timeout=", what: "dist_timeout", unit: seconds},
		}},
		{text: "server_args={'", does: restart, stage: fabric.StageStart, gets: []field{
			{key: "'tp_size': ", what: "tp"}, {key: "'pp_size': ", what: "pp"}, {key: "'dp_size': ", what: "dp"}, {key: "'ep_size': ", what: "ep"},
			{key: "'nnodes': ", what: "nodes"}, {key: "'node_rank': ", what: "node_rank"}, {key: "'mem_fraction_static': ", what: "mem_fraction"},
			{key: "'port': ", what: "port"}, {key: "'watchdog_timeout': ", what: "watchdog", unit: seconds}, {key: "'dist_timeout': ", what: "dist_timeout", unit: seconds},
		}},
		{text: "Init parallel begin", does: begins, stage: fabric.StageInit},
		{text: "Init parallel ends", does: ends, stage: fabric.StageInit, gets: []field{took("init")}},
		{text: "Init torch distributed begin", does: begins, stage: fabric.StageInit},
		{text: "Init torch distributed ends", does: ends, stage: fabric.StageInit, gets: []field{took("init"), usage("init_mem")}},
		{text: "Init nccl begin", does: begins, stage: fabric.StageInit},
		{text: "sglang is using nccl==", does: inside, stage: fabric.StageInit},
		{text: "Load weight begin", does: begins, stage: fabric.StageWeights, gets: []field{avail("avail_before_load")}},
		{text: "Load weight end", does: ends, stage: fabric.StageWeights, gets: []field{took("load"), usage("weights"), avail("avail_after_load")}},
		{text: "Using ModelOptModelLoader", does: inside, stage: fabric.StageWeights},
		{text: "load weight begin.", does: begins, stage: fabric.StageWeights},
		{text: "load weight end.", does: ends, stage: fabric.StageWeights},
		{text: "Using KV cache dtype:", does: begins, stage: fabric.StageKV},
		{text: "KV Cache is allocated", does: inside, stage: fabric.StageKV, gets: []field{
			{key: "#tokens: ", what: "kv_tokens", unit: tokens}, {key: "K size: ", what: "k", unit: gib}, {key: " V size: ", what: "v", unit: gib}, {key: "KV size: ", what: "kv", unit: gib},
		}},
		{text: "KV Cache VA upper bound", does: inside, stage: fabric.StageKV},
		{text: "Post-capture KV sizing: KV cache allocated", does: inside, stage: fabric.StageGraphs, gets: []field{{key: "#tokens: ", what: "kv_tokens", unit: tokens}}},
		{text: "DSV4 pool sizes:", does: inside, stage: fabric.StageKV, gets: []field{{key: "full=", what: "kv_tokens", unit: tokens}, {key: "swa=", what: "swa_tokens", unit: tokens}}},
		{text: "DSV4 memory calculation:", does: inside, stage: fabric.StageKV, gets: []field{{key: "bytes_per_full_token=", what: "kv_bytes_per_token", unit: "B"}}},
		{text: "SWAKVPool mem usage:", does: inside, stage: fabric.StageKV, gets: []field{
			{key: "mem usage: ", what: "kv", unit: gib}, {key: "swa size: ", what: "swa_tokens", unit: tokens}, {key: "full size: ", what: "kv_tokens", unit: tokens},
		}},
		{text: "Mamba Cache is allocated", does: inside, stage: fabric.StageKV},
		{text: "Memory pool end", does: ends, stage: fabric.StageKV, gets: []field{avail("avail_after_pool")}},
		{text: "Init attention backend begin", does: begins, stage: fabric.StageGraphs},
		{text: "Try DeepGEMM JIT Compiling", does: inside, stage: fabric.StageGraphs},
		{text: "Entering DeepGEMM JIT", does: inside, stage: fabric.StageGraphs},
		{text: "DeepGEMM warmup:", does: inside, stage: fabric.StageGraphs},
		{text: "DeepGEMM JIT code generation", does: inside, stage: fabric.StageGraphs},
		{text: "Capture * graph bs [", does: inside, stage: fabric.StageGraphs, gets: []field{{key: "bs [", what: "graph_batches", unit: "list"}}},
		{text: "max_total_num_tokens=", does: inside, stage: fabric.StageGraphs, gets: []field{
			{key: "max_total_num_tokens=", what: "kv_tokens", unit: tokens}, {key: "max_running_requests=", what: "max_running", unit: "requests"},
			{key: "context_len=", what: "context", unit: tokens}, {key: "available_gpu_mem=", what: "avail_final", unit: gib}, {key: "chunked_prefill_size=", what: "chunked_prefill", unit: tokens},
		}},
		{text: "Tree cache initialized", does: inside, stage: fabric.StageGraphs},
		{text: "The server is fired up and ready to roll", does: isReady, stage: fabric.StageReady},
		{text: "Prefill batch", does: isServed, stage: fabric.StageReady},
		{text: "Decode batch", does: isServed, stage: fabric.StageReady},
	}
	for _, graph := range []string{"cuda graph", "CUDA graph", "npu graph", "NPU graph", "hip graph", "cpu graph", "CPU graph"} {
		forms = append(forms,
			form{text: "Capture *" + graph + " begin", does: begins, stage: fabric.StageGraphs, gets: []field{avail("avail_before_graphs"), {key: "bs=[", what: "graph_batches", unit: "list"}}},
			form{text: "Capture *" + graph + " end", does: ends, stage: fabric.StageGraphs, gets: []field{took("graphs"), usage("graph_mem"), avail("avail_final")}})
	}
	for i := range forms {
		forms[i].engine = sglang
	}
	return forms
}
