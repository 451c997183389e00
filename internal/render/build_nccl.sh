#!/bin/sh
# Written by railwright. Builds NCCL and nccl-tests for the GPU of a DGX Spark (sm_121), each at one commit.
#
#   /etc/railwright/build-nccl.sh [FOLDER]     FOLDER: /opt/railwright, or one that you may write to
#
# Run it on every machine: all must have the same NCCL. What is built already is kept. It needs git, make, a C++ compiler,
# nvcc of CUDA 13 and libopenmpi-dev. Nothing outside FOLDER is changed; to undo it, remove FOLDER/nccl and FOLDER/nccl-tests.
set -eu

folder=${1:-/opt/railwright}
cuda=${CUDA_HOME:-/usr/local/cuda}
mpi=${MPI_HOME:-/usr/lib/$(uname -m)-linux-gnu/openmpi}

# Release v2.30.7-1: the first with NCCL_IB_SUBNET_AWARE_ROUTING, which a ring needs. A release, not a branch: a
# development build was measured at 3.04 GB/s where a release had 23.74 (NVIDIA/dgx-spark-playbooks, issue 102).
nccl_url=https://github.com/NVIDIA/nccl.git
nccl_commit=73cf112295c33aee2b895f329f592f2a9b4b0f97
nccl_version=2.30.7
# 2.19.6.
tests_url=https://github.com/NVIDIA/nccl-tests.git
tests_commit=a0b82b2260cf5152b9f8c061bbf7eaf0ba096432

fail() {
	echo "build-nccl.sh: $*" >&2
	exit 1
}

# fetch NAME URL COMMIT: the source of exactly this commit in FOLDER/NAME. Git names a commit by the checksum of all that is in it.
fetch() {
	if [ -d "$folder/$1/.git" ] && [ "$(git -C "$folder/$1" rev-parse HEAD 2>/dev/null)" = "$3" ]; then
		return
	fi
	[ ! -e "$folder/$1" ] || fail "$folder/$1: is not commit $3 of $2; remove it, or give another folder"
	part=$folder/$1.part
	rm -rf "$part"
	git init -q "$part"
	git -C "$part" fetch -q --depth 1 "$2" "$3"
	git -C "$part" checkout -q --detach FETCH_HEAD
	found=$(git -C "$part" rev-parse HEAD)
	[ "$found" = "$3" ] || fail "$2: commit $found came, not $3"
	mv "$part" "$folder/$1"
}

for tool in git make c++; do
	command -v "$tool" >/dev/null || fail "$tool: is not installed"
done
[ -x "$cuda/bin/nvcc" ] || fail "$cuda/bin/nvcc: is not there; set CUDA_HOME"
[ -e "$mpi/include/mpi.h" ] || fail "$mpi/include/mpi.h: is not there; sudo apt-get install libopenmpi-dev, or set MPI_HOME"
mkdir -p "$folder" || fail "$folder: cannot be made; run with sudo, or give another folder"

for_sm_121="-gencode=arch=compute_121,code=sm_121"
jobs=$(nproc)

fetch nccl "$nccl_url" "$nccl_commit"
make -C "$folder/nccl" -j "$jobs" src.build CUDA_HOME="$cuda" NVCC_GENCODE="$for_sm_121"
grep -aq "NCCL version $nccl_version" "$folder/nccl/build/lib/libnccl.so.2" || fail "$folder/nccl/build/lib/libnccl.so.2: is not $nccl_version"

fetch nccl-tests "$tests_url" "$tests_commit"
make -C "$folder/nccl-tests" -j "$jobs" MPI=1 MPI_HOME="$mpi" CUDA_HOME="$cuda" NCCL_HOME="$folder/nccl/build" NVCC_GENCODE="$for_sm_121"
[ -x "$folder/nccl-tests/build/all_gather_perf" ] || fail "$folder/nccl-tests/build/all_gather_perf: was not built"

echo "NCCL $nccl_version: $folder/nccl/build/lib"
echo "nccl-tests: $folder/nccl-tests/build"
