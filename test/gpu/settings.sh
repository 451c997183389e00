#!/bin/bash
# Measures collectives with and without settings of NCCL on all GPUs of this machine, for what the model of collectives
# is held against.
#
#   settings.sh OUT SECONDS PHASE...
#
# Phases: one_process, processes, between_hosts, seldom, sizes; no run begins after so many seconds.
# It needs Open MPI under $OPAL_PREFIX, its mpirun in the PATH, ./collectives and ./collectives-mpi of build.sh, root and
# "ip". One file per way of starting: one process for all GPUs (one-process.txt), a process per GPU (processes.txt),
# and "hosts" of this machine over sockets, each with one GPU (hosts.txt) or with half of them (half-hosts.txt). Above each
# table stands its command, with the settings before it. NVLS stays off: the GPUs of a machine may be shared.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
out=$(mkdir -p "$1" && cd "$1" && pwd)
until=$((SECONDS + $2))
shift 2
work=$(mktemp -d)
gpus=$(nvidia-smi -L | wc -l)
mebi=$((1 << 20)) gibi=$((1 << 30))
export NCCL_NVLS_ENABLE=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export HOSTS=$work/hosts HOST_COUNT=$gpus

# run FILE SETTINGS COMMAND...: the command with its settings (words) into a file, unless time is over
run() {
  local file=$out/$1.txt settings=$2 status=0
  shift 2
  [ $SECONDS -lt $until ] || return 0
  echo "\$ $settings ${*##*/}" >>"$file"
  timeout -k 5 40 env $settings "$@" >>"$file" 2>&1 </dev/null || status=$?
  [ $status = 0 ] || echo "# failed: $status" >>"$file"
}

# of COLLECTIVE [MIN MAX]: the arguments of a run
of() { echo "$1 ${2:-1024} ${3:-$gibi} 4 20"; }
large() { of "$1" $mebi $gibi; }

alone() { run one-process "$1" "$here/collectives" -g "${2:-$gpus}" ${3:-$(large all_reduce)}; }
each() { run processes "$1" mpirun -np "$gpus" --bind-to none --timeout 35 "$here/collectives-mpi" ${2:-$(of all_reduce)}; }

# between FILE COUNT GPUS SETTINGS ARGUMENTS: on so many hosts with so many GPUs each
between() {
  local file=$1 count=$2 per=$3 settings=$4 args=$5 names name forwarded=(-x NCCL_NVLS_ENABLE)
  names=$(printf 'gpu-%s:1\n' a b c d | head -n "$count" | paste -sd,)
  for name in $settings; do forwarded+=(-x "${name%%=*}"); done
  run "$file" "$settings" "$here/hosts.sh" on gpu-a mpirun --prtemca plm_ssh_agent "$work/agent" -np "$count" --host "$names" \
    --bind-to none --timeout 35 "${forwarded[@]}" --prtemca prte_if_include eth0 --mca btl self,tcp \
    --mca btl_tcp_if_include eth0 "$here/collectives-mpi" -g "$per" $args
}
hosts() { between hosts "$gpus" 1 "$1" "$2"; }
halves() { HOST_GPUS=$half between half-hosts 2 $((gpus / 2)) "$1" "$2"; }

# agent GPUS: what mpirun starts the other hosts by
agent() {
  printf '%s\n' "PATH=$PATH" HOME=/root "OPAL_PREFIX=$OPAL_PREFIX" "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}" "HOST_GPUS=$1" "HOST_COUNT=$HOST_COUNT" |
    sed '/^[A-Z_]*=$/d' >"$work/login"
  printf '#!/bin/bash\nHOSTS=%q exec %q agent %q "$@"\n' "$HOSTS" "$here/hosts.sh" "$work/login" >"$work/agent"
  chmod +x "$work/agent"
}

all='all_reduce all_gather reduce_scatter alltoall broadcast reduce sendrecv gather scatter'
protocols='Ring:LL Ring:LL128 Ring:Simple Tree:LL Tree:LL128 Tree:Simple'
forced() { echo "NCCL_ALGO=${1%:*} NCCL_PROTO=${1#*:}"; }
socket_args() { of "$1" 1024 $((64 * mebi)) | sed 's/20$/5/'; }

one_process() {
  local c n p s
  for c in $all; do alone "" "$gpus" "$(of $c 1024 $((4 * gibi)))"; done
  for p in $protocols; do alone "$(forced $p)" "$gpus" "$(of all_reduce)"; done
  for s in MAX_NCHANNELS={1,2,4,8,16} NTHREADS={64,128,256} BUFFSIZE={262144,1048576,16777216} MIN_CTAS=32 P2P_DISABLE=1 P2P_LEVEL=LOC; do
    alone NCCL_$s
  done
  for c in all_gather reduce_scatter broadcast reduce alltoall; do
    for s in MAX_NCHANNELS={1,4,8} NTHREADS={64,128} BUFFSIZE=262144 P2P_DISABLE=1; do alone NCCL_$s "$gpus" "$(large $c)"; done
  done
  for s in 'NCCL_MAX_NCHANNELS=4 NCCL_ALGO=Tree' 'NCCL_MAX_NCHANNELS=8 NCCL_PROTO=LL128' 'NCCL_NTHREADS=128 NCCL_MAX_NCHANNELS=8' \
    'NCCL_NTHREADS=256 NCCL_ALGO=Tree' 'NCCL_BUFFSIZE=524288 NCCL_MAX_NCHANNELS=16'; do alone "$s"; done
  for n in $(seq 2 $((gpus - 1))); do
    for c in all_reduce all_gather alltoall broadcast; do alone "" "$n" "$(of $c 1024 $((4 * gibi)))"; done
  done
  alone 'NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1' "$gpus" "$(of all_reduce $mebi $((256 * mebi)))"
}

# settings that few people set
seldom() {
  local s c
  for s in NTHREADS=512 LL128_NTHREADS={160,320} MAX_CTAS=4 MIN_CTAS=16 MIN_NCHANNELS=32 BUFFSIZE={65536,8388608} CGA_CLUSTER_SIZE={0,2} CUMEM_ENABLE=0 \
    LAUNCH_MODE=GROUP LOCAL_REGISTER=0 P2P_DIRECT_DISABLE=1 P2P_READ_ENABLE=1 P2P_USE_CUDA_MEMCPY=1 SHM_USE_CUDA_MEMCPY=1 RUNTIME_CONNECT=0 \
    P2P_LEVEL=NVL NVB_DISABLE=1 WORK_FIFO_BYTES=4096 L1_SHARED_MEMORY_CARVEOUT=50 THREAD_THRESHOLDS=8 MEM_SYNC_DOMAIN=0 WIN_ENABLE=0 \
    SET_STACK_SIZE=1 'PROTO=^Simple' 'PROTO=^LL128,Simple' 'ALGO=^Ring'; do
    alone "NCCL_$s" "$gpus" "$(of all_reduce 16384)"
  done
  for s in 'LL_BUFFSIZE=65536 NCCL_PROTO=LL' 'LL128_BUFFSIZE=1048576 NCCL_PROTO=LL128' 'LL128_NTHREADS=160 NCCL_PROTO=LL128' 'NTHREADS=128 NCCL_PROTO=LL' \
    'MAX_NCHANNELS=2 NCCL_PROTO=LL' 'MAX_NCHANNELS=2 NCCL_PROTO=LL128' 'MAX_NCHANNELS=2 NCCL_ALGO=Tree'; do alone "NCCL_$s"; done
  for c in alltoall sendrecv gather; do
    for s in NCHANNELS_PER_PEER={1,2,8} MIN_P2P_NCHANNELS=32 MAX_P2P_NCHANNELS={2,8} P2P_NVL_CHUNKSIZE={65536,1048576} P2P_LL_THRESHOLD={0,1048576} P2P_READ_ENABLE=1; do
      alone "NCCL_$s" "$gpus" "$(of $c 16384)"
    done
  done
}

# each power of two of middle sizes
sizes() {
  local c p
  for c in all_reduce all_gather reduce_scatter; do
    for p in Ring:LL Ring:LL128 Ring:Simple; do alone "$(forced $p)" "$gpus" "$c 16384 $((128 * mebi)) 2 20"; done
  done
  for c in all_reduce all_gather reduce_scatter alltoall broadcast; do alone "" "$gpus" "$c 16384 $((128 * mebi)) 2 20"; done
}

processes() {
  local c
  for c in $all; do each "" "$(of $c)"; done
}

# the tables of hosts, by the function that runs one
over_sockets() { # FUNCTION
  local c p s
  for p in '' $protocols; do $1 "${p:+$(forced $p)}" "$(socket_args all_reduce)"; done
  for s in 'NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4' NCCL_MAX_NCHANNELS=1 NCCL_BUFFSIZE=1048576; do $1 "$s" "$(socket_args all_reduce)"; done
  for c in all_gather reduce_scatter broadcast reduce alltoall; do $1 "" "$(socket_args $c)"; done
}

between_hosts() {
  local half
  "$here/hosts.sh" up || return
  agent "$(seq -s ' ' 0 $((gpus - 1)))"
  over_sockets hosts
  if [ "$gpus" -gt 2 ]; then
    half="$(seq -s , 0 $((gpus / 2 - 1))) $(seq -s , $((gpus / 2)) $((gpus - 1)))"
    agent "$half"
    over_sockets halves
  fi
  "$here/hosts.sh" down
}

for phase in "$@"; do $phase; done
rm -r "$work"
