#!/bin/bash
# Measures what the model of collectives is held against on the GPUs of this machine, into the folder $1:
# nine collectives as NCCL runs them by itself, all_reduce with each algorithm and protocol forced, int8, and
# NCCL's own log, topology and graphs. NVLS stays as the environment sets it.
set -euo pipefail
out=$1
here=$(dirname "$0")
most=$((4 << 30))
log=$out/nccl-debug-info.txt
NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING,COLL NCCL_TOPO_DUMP_FILE=$out/topo.xml NCCL_GRAPH_DUMP_FILE=$out/graph.xml \
  timeout 120 "$here/collectives" all_reduce 8 $((64 << 20)) 2 5 >"$log" 2>&1 || echo "failed: $?" >>"$log"
: >"$out/tables.txt"
for c in all_reduce all_gather reduce_scatter alltoall broadcast reduce sendrecv gather scatter; do
  timeout 120 "$here/collectives" $c 8 $most 2 20 >>"$out/tables.txt" 2>&1 || echo "# $c failed: $?" >>"$out/tables.txt"
done
timeout 120 "$here/collectives" all_reduce 8 $most 2 20 int8 >>"$out/tables.txt" 2>&1 || echo "# int8 failed: $?" >>"$out/tables.txt"
: >"$out/forced.txt"
for algo in Ring Tree; do
  for proto in LL LL128 Simple; do
    echo "\$ NCCL_ALGO=$algo NCCL_PROTO=$proto ./all_reduce_perf" >>"$out/forced.txt"
    NCCL_ALGO=$algo NCCL_PROTO=$proto timeout 120 "$here/collectives" all_reduce 8 $((1 << 30)) 2 20 >>"$out/forced.txt" 2>&1 ||
      echo "# failed: $?" >>"$out/forced.txt"
  done
done
