package serving

// The constants of the performance model. Each is a figure of hardware or of an engine that holds for every model;
// none was fitted on the throughput that the VMware document prints. The accuracy command lists the public measurements
// with their errors.
const (
	// streamShare is the part of the memory's rate that long reads of weights and KV reach: refresh, row changes and
	// the ends of kernels take the rest. Copy and triad of an H100 SXM reach 3.0 to 3.1 of its 3.35 TB/s.
	streamShare = 0.9

	// computeShareNVIDIA is the part of the dense peak that large matrix products reach, at the clock that the power
	// limit leaves: S. Bekman, Machine Learning Engineering, maximum achievable matmul FLOPS: H100 0.803, B200 0.776.
	computeShareNVIDIA = 0.78
	// computeShareAMD is the same table's MI300X: 781.9 of 1300.
	computeShareAMD = 0.60

	// groupedShare is what a product grouped by expert reaches of a large one: each expert's part is a small matrix
	// that does not fill its tiles, and tokens are gathered and scattered. 0.58 of 0.78 is 890 of an H100's 1978
	// TFLOP/s in fp8; the public measurements cannot distinguish it from half as much.
	groupedShare = 0.58
	// attentionShare is the part of the bf16 peak that causal attention over a prompt reaches: FlashAttention-3 gives
	// 400 to 600 of 989 TFLOP/s on H100 (Shah and others 2024, figure 5).
	attentionShare = 0.5

	// kernelTime is the least time that a kernel of a captured graph takes where the next one needs its result:
	// launch, filling and draining the GPU, one read of memory from end to end. A launch by the CPU takes 4 to 6 us, a
	// graph little less; read from the public measurements at few users, where little else is left: 5 gives them
	// 1.2 % more error, 6 half a percent less.
	kernelTime = 5.5e-6 // s

	// engineLatency is that of an engine's own all-reduce over NVLink or XGMI, and engineShare the part of the one-way
	// link rate that it moves: sglang pull request 2904, vLLM's kernel on H100: 8.5 to 11.8 us up to 32 KiB, 45 us for
	// 1 MiB on 8 GPUs, 27 us on 2.
	engineLatency = 9e-6 // s
	engineShare   = 0.13
	// libraryLatency and libraryShare are those of NCCL and RCCL, which take over where they are faster: 17 to 20 us
	// for 16 to 512 KiB on 8 H100 (aws-samples/awsome-distributed-training, p5), 0.7 of the link from 16 MiB on,
	// on 2 H200 measured by this project and on 8 MI300X likewise.
	libraryLatency = 20e-6 // s
	libraryShare   = 0.7

	// requestTime is what the engine's scheduler, sampler and detokeniser, which are Python, take for a running request
	// in every step: with 512 requests about 10 ms, which no GPU time hides. Read from the public measurements of
	// Llama-3.1-8B at 352 to 512 users, whose GPU time is less than half of a step.
	requestTime = 20e-6 // s
	// promptTime is the same for the first step of a request: tokenising, the prefix tree, the request's tables.
	promptTime = 1e-3 // s

	// routingSkew is the exponent of the law by which experts are chosen: the i-th most chosen of E in proportion to
	// (i/E)^-skew. Routers send several times the mean to their busiest experts, as replication of hot experts in
	// deployments of DeepSeek shows. 0 would be even routing and read the most experts; the public measurements do not
	// distinguish 0.3 from 0.7.
	routingSkew = 0.6

	// waitShare is the part of the other requests' prompts that a running request waits for. In a closed loop half of
	// them come before its own first token and count there, half after it.
	waitShare = 0.5
)

// performanceBand is how far measured throughput lies from the computed one, as factors below and above: eight in
// ten of the public measurements of time per token lie inside.
const (
	performanceLow  = 0.7
	performanceHigh = 1.2
)
