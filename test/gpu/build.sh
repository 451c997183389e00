#!/bin/bash
# Builds ./collectives with the NCCL that Python's package brings, or with one under NCCL_HOME.
set -euo pipefail
cd "$(dirname "$0")"
home=${NCCL_HOME:-$(python3 -c 'import nvidia.nccl, os; print(list(nvidia.nccl.__path__)[0])')}
nvcc -O2 -std=c++17 -arch=native -I"$home/include" collectives.cu -o collectives \
  -Xlinker -rpath="$home/lib" -L"$home/lib" -l:libnccl.so.2
