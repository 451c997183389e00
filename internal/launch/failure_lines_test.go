package launch

import "testing"

// TestFailureLines: lines as engines and libraries print them, each alone behind the start of a launch.
func TestFailureLines(t *testing.T) {
	for line, kind := range map[string]string{
		"torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 20000).":                                     "store-timeout",
		"torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.":                                                               "store-timeout",
		"socket.gaierror: [Errno -2] Name or service not known":                                                                                                                "leader-address",
		"huggingface_hub.errors.GatedRepoError: 401 Client Error. Access to model org/m is restricted.":                                                                        "weights-gated",
		"OSError: You are trying to access a gated repo.":                                                                                                                      "weights-gated",
		"OSError: /models/x does not appear to have a file named config.json.":                                                                                                 "weights-missing",
		"RuntimeError: Cannot find any model weights with `/models/x`":                                                                                                         "weights-missing",
		"safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge":                                                                                   "weights-broken",
		"OSError: [Errno 28] No space left on device: '/root/.cache/huggingface/x'":                                                                                            "disk-full",
		"OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'":                                                                                                        "shared-memory",
		"OSError: [Errno 98] Address already in use":                                                                                                                           "port-in-use",
		"ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use":                                                            "port-in-use",
		"ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (16).":                                                                     "layout",
		"ValueError: Model architectures ['XForCausalLM'] are not supported for now. Supported architectures: dict_keys([])":                                                   "unsupported-model",
		"ValueError: The checkpoint you are trying to load has model type `x` but Transformers does not recognize this architecture.":                                          "unsupported-model",
		"ValueError: Unknown quantization method: x. Must be one of [...]":                                                                                                     "unsupported-quantisation",
		"ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: 80.":                                        "unsupported-quantisation",
		"ValueError: Loading x requires you to execute the configuration file in that repo. Please pass the argument `trust_remote_code=True` to allow custom code to be run.": "remote-code",
		"RuntimeError: The NVIDIA driver on your system is too old (found version 12020).":                                                                                     "driver",
		"RuntimeError: No CUDA GPUs are available":                                                                                                                             "no-gpu",
		"RuntimeError: Failed to infer device type":                                                                                                                            "no-gpu",
		"RuntimeError: CUDA error: invalid device ordinal":                                                                                                                     "gpu-count",
		"RuntimeError: CUDA error: no kernel image is available for execution on the device":                                                                                   "unsupported-gpu",
		"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.":                                                                                       "gpu-memory",
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.":                                                                                              "gpu-memory",
		"torch.distributed.DistBackendError: NCCL error in: x, ncclUnhandledCudaError: Call to CUDA function failed. Cuda failure 'out of memory'":                             "gpu-memory",
		"ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.":                                                                         "gpu-shared",
		"vllm serve: error: unrecognized arguments: --bogus":                                                                                                                   "argument",
		"launch_server.py: error: unrecognized arguments: --bogus":                                                                                                             "argument",
		"ModuleNotFoundError: No module named 'flash_attn'":                                                                                                                    "dependency",
		"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory":                                                                              "dependency",
		"RuntimeError: CUDA error: an illegal memory access was encountered":                                                                                                   "gpu-fault",
		"torch.distributed.DistBackendError: NCCL error in: x, ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000":                          "duplicate-gpu",
		"command terminated with exit code 137":                                                                                                                                "killed",
		"Killed":                                                                                                                                                               "killed",
		"run.sh: line 7:   123 Killed                  python3 -m sglang.launch_server":                                                                                        "killed",
		"ray.exceptions.RaySystemError: System error: Failed to connect to GCS":                                                                                                "ray",
		"KeyError: 'model.layers.0.x'":                                                                                                                                         "exception",
		"AssertionError":                                                                                                                                                       "exception",
		"RuntimeError: CUDA error: system not yet initialized, Error 802: system not yet initialized":                                                                          "fabric-manager",
		"pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig":                                                                                     "exception",
	} {
		t.Run(kind, func(t *testing.T) {
			l := result(t, []string{"INFO 03-02 09:00:00 [api_server.py:1977] vLLM API server version 0.14.0", line})
			if l.Cause == nil || l.Cause.Kind != kind {
				t.Errorf("%s: %+v", line, l.Cause)
			}
		})
	}
}
