#!/bin/bash
# Builds ./collectives with the NCCL that Python's package brings, or with one under NCCL_HOME; and with the Open MPI
# under OPAL_PREFIX, if that is set, ./collectives-mpi.
set -euo pipefail
cd "$(dirname "$0")"
home=${NCCL_HOME:-$(python3 -c 'import nvidia.nccl, os; print(list(nvidia.nccl.__path__)[0])')}
build() { # PROGRAM FLAG...
  nvcc -O2 -std=c++17 -arch=${CUDA_ARCH:-native} -I"$home/include" collectives.cu -o "$@" \
    -Xlinker -rpath="$home/lib" -L"$home/lib" -l:libnccl.so.2
}
build collectives
[ -z "${OPAL_PREFIX:-}" ] || build collectives-mpi -DWITH_MPI -I"$OPAL_PREFIX/include" -L"$OPAL_PREFIX/lib" -lmpi
