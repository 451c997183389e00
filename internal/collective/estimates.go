package collective

// estimates are the figures that this project derived from measurements of whole collectives: each is an
// effect that no table of NCCL has. TestLeaveOneOut estimates each of them again without the tables of one
// cluster and predicts these.
type estimates struct {
	// spread is by how much the latency of LL grows from one channel to all: each further channel has to be
	// started and posted. 15.2 and 19.1 us on one node of H100 (aws-samples/awsome-distributed-training, p5), 25.2
	// and 33.8 on two, 35.2 and 48 on four (NVIDIA/nccl-tests issue 309).
	spread float64

	// ringPasses is how many of the FIFOs of its channels a ring over NVLink fills before it is held back, and
	// runs dry at the end, where the work of its blocks was not measured, and those of point-to-point operations. Two H200
	// of the project, eight A100 (S. Bekman, network/README.md).
	ringPasses float64

	// nvlsPasses and nvlsTreePasses are how often the data in flight passes before the pipeline of NVLS and of
	// NVLSTree is full and after it drains: once each way. One node of H100 and H200 of four sources; two
	// and four nodes of H100, two of B200.
	nvlsPasses, nvlsTreePasses float64

	// nvlsTree is what the reduction in the switch keeps while half of the blocks serve the tree: 470 of 515 GB/s
	// on two nodes of H100 (NVIDIA/nccl-tests issue 309 and two others).
	nvlsTree float64

	// tree is what trees reach compared with a ring: the data of both directions and of several neighbours share
	// one NIC. 381.8 of 392.4 GB/s on two nodes of B200 (dstack documentation, clusters/lambda).
	tree float64

	// localCopy is what a rank's own piece costs an out-of-place all_gather, whose threads store it once more, and a
	// reduce_scatter, whose threads read it besides. Two H200 of the project: 296 to 304 and 314 GB/s, where an
	// all_reduce reaches 349.
	localCopy float64

	// blackwell is how much longer two nodes of B200 take than two of H100 for small sizes, us: 35.5 against 25.2 on
	// InfiniBand (dstack documentation, clusters/lambda), 43.3 against 32 on RoCE (esaaren/verl-on-gke).
	blackwell float64
}

func estimated() estimates {
	return estimates{
		spread: 0.3, ringPasses: 0.5, nvlsPasses: 1.35, nvlsTreePasses: 2,
		nvlsTree: 0.915, tree: 0.973, localCopy: 0.18, blackwell: 10,
	}
}
