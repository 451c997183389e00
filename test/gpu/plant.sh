#!/bin/bash
# Plants one fault after another on two GPUs of this machine and keeps what NCCL and mpirun then print, with the truth.
#
#   plant.sh OUT [PHASE...]
#
# Phases: settings hosts failures tables hangs link_falls; by itself all of them. It needs Open MPI under $OPAL_PREFIX, its
# mpirun in the PATH, ./collectives and ./collectives-mpi of build.sh (or others in $ALONE and $COLLECTIVES), NCCL in
# the first folder of LD_LIBRARY_PATH, root, and "ip"; for NCCL of two versions the folder of another
# libnccl.so.2 in $OTHER_NCCL. It writes OUT/NAME.log, OUT/NAME.table (no debug output) and OUT/index.json:
#   name, command, settings (of both hosts, or of one: "gpu-b:NAME=VALUE"), causes (what was planted), kind (sick or
#   healthy), control (the plant that is the same without the fault), status (exit), busbw (GB/s, of the last row).
# Every run ends by itself. Nothing of the GPUs is set.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
phases=${*:-settings hosts failures tables hangs link_falls}
work=$(mktemp -d)
export HOSTS=$work/hosts OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export NCCL_NVLS_ENABLE=0 # multicast stays off: the GPUs of a machine may be shared
program=${COLLECTIVES:-$here/collectives-mpi}
alone=${ALONE:-$here/collectives}
mebi=$((1 << 20)) gibi=$((1 << 30))
debug=(NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET)
limit=60 # s, of one run
. "$here/plant-run.sh"

settings() {
  printf 'NCCL_MAX_NCHANNELS=2\n' >"$work/nccl.conf"
  one two-gpus healthy "" ""
  one algo-ring healthy "" two-gpus NCCL_ALGO=Ring
  one nvls-off healthy "" two-gpus NCCL_NVLS_ENABLE=0
  one ib-off healthy "" two-gpus NCCL_IB_DISABLE=1
  one cumem-off healthy "" two-gpus NCCL_CUMEM_ENABLE=0
  for s in PROTO=LL128 ALGO=Tree; do one "$(named "$s")" healthy nccl-settings two-gpus NCCL_$s; done
  for s in MAX_NCHANNELS=1 MAX_CTAS=2 PROTO=LL BUFFSIZE=65536 NTHREADS=64 P2P_DISABLE=1 P2P_LEVEL=LOC; do
    one "$(named "$s")" sick nccl-settings two-gpus NCCL_$s
  done
  one p2p-shm-off sick nccl-settings two-gpus NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1
  one proto-ll-max-nchannels-1 sick nccl-settings two-gpus NCCL_PROTO=LL NCCL_MAX_NCHANNELS=1
  one p2p-disable-buffsize sick nccl-settings two-gpus NCCL_P2P_DISABLE=1 NCCL_BUFFSIZE=65536
  one conf-file sick nccl-settings two-gpus NCCL_CONF_FILE="$work/nccl.conf"
  args="all_gather 8 $gibi 4 20" one all-gather healthy "" ""
  before="taskset -c 0" one one-core sick cpu-affinity two-gpus
  before="taskset -c 0" one one-core-shm sick "cpu-affinity nccl-settings" two-gpus NCCL_P2P_DISABLE=1
  args="alltoall 8 $gibi 4 20" one alltoall healthy "" ""
  args="alltoall 8 $gibi 4 20" one alltoall-p2p-channels sick p2p-channels alltoall NCCL_MAX_P2P_NCHANNELS=1
}

# before and after of each setting, without debug output, which costs time
tables() {
  table default
  for s in ALGO=Ring ALGO=Tree MAX_NCHANNELS=1 MAX_NCHANNELS=4 MAX_CTAS=2 PROTO=LL PROTO=LL128 PROTO=Simple BUFFSIZE=65536 NTHREADS=64 P2P_DISABLE=1 P2P_LEVEL=LOC; do
    table "$(named "$s")" NCCL_$s
  done
  table max-nchannels-4-nthreads-64 NCCL_MAX_NCHANNELS=4 NCCL_NTHREADS=64
  table max-nchannels-4-proto-ll NCCL_MAX_NCHANNELS=4 NCCL_PROTO=LL
  table p2p-disable-max-nchannels-1 NCCL_P2P_DISABLE=1 NCCL_MAX_NCHANNELS=1
  table p2p-shm-off NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1
  table proto-ll-max-nchannels-1 NCCL_PROTO=LL NCCL_MAX_NCHANNELS=1
  table p2p-disable-buffsize NCCL_P2P_DISABLE=1 NCCL_BUFFSIZE=65536
  before="taskset -c 0" table one-core
  before="taskset -c 0" table one-core-shm NCCL_P2P_DISABLE=1
  table default-again
  args="all_reduce $mebi $((256 * mebi)) 2 5"
  for s in "" PROTO=LL MAX_NCHANNELS=1 BUFFSIZE=65536; do
    host_table "hosts-$(named "${s:-default}")" ${s:+NCCL_$s}
  done
}

failures() {
  one algo-typo sick nccl-settings two-gpus NCCL_ALGO=Rng
  one proto-typo sick nccl-settings two-gpus NCCL_PROTO=Simpel
  one net-ib-without-ib sick nccl-settings two-gpus NCCL_NET=IB
  one ifname-none sick bootstrap-interface two-gpus NCCL_SOCKET_IFNAME=nosuch0
  one topo-file-none healthy topo-xml-wrong two-gpus NCCL_TOPO_FILE=/etc/nccl/topo.xml
  one topo-file-broken sick topo-xml-wrong two-gpus NCCL_TOPO_FILE="$(topology topo-file-broken 's/<\/cpu>//')"
  one topo-file-other-links healthy topo-xml-wrong two-gpus NCCL_TOPO_FILE="$(topology topo-file-other-links 's/32.0 GT\/s PCIe/2.5 GT\/s PCIe/; s/link_width="[0-9]*"/link_width="1"/')"
  one topo-file-one-nvlink sick topo-xml-wrong two-gpus NCCL_TOPO_FILE="$(topology topo-file-one-nvlink 's/(<nvlink .*count=)"[0-9]*"/\1"1"/')"
  one duplicate-gpu sick duplicate-gpu two-gpus NCCL_TESTS_DEVICE=0
  one gpu-hidden sick launcher-setup two-gpus CUDA_VISIBLE_DEVICES=0
  one gpu-beyond sick launcher-setup two-gpus CUDA_VISIBLE_DEVICES=0,7
  full_memory
  before="$here/small-shm.sh 1m" mpi="--mca btl self,tcp" one shm-full sick shm-full two-gpus NCCL_P2P_DISABLE=1 NCCL_CUMEM_HOST_ENABLE=0
  before="$here/small-shm.sh 1m" mpi="--mca btl self,tcp" one shm-full-cumem sick nccl-settings two-gpus NCCL_P2P_DISABLE=1
  before="$here/small-shm.sh 1m" one shm-full-mpi healthy shm-full two-gpus
  program=$alone args="-g 1 $args_one" one no-mpi-in-program sick mpi-not-built two-gpus
  signalled rank-killed process-killed KILL
  signalled rank-stopped "" STOP
  mismatched
}

hosts() {
  two two-hosts healthy "" ""
  limit=25
  two hosts-proto-ll sick nccl-settings two-hosts both:NCCL_PROTO=LL
  two hosts-max-nchannels-1 healthy nccl-settings two-hosts both:NCCL_MAX_NCHANNELS=1
  two hosts-buffsize sick nccl-settings two-hosts both:NCCL_BUFFSIZE=65536
  two b-ib-off healthy "" two-hosts gpu-b:NCCL_IB_DISABLE=1
  two b-p2p-off healthy "" two-hosts gpu-b:NCCL_P2P_DISABLE=1
  two b-max-nchannels-1 sick nccl-settings two-hosts gpu-b:NCCL_MAX_NCHANNELS=1
  two b-buffsize sick nccl-settings two-hosts gpu-b:NCCL_BUFFSIZE=65536
  two b-net-plugin healthy net-plugin two-hosts gpu-b:NCCL_NET_PLUGIN=nosuch
  two b-net-ib sick nccl-settings two-hosts gpu-b:NCCL_NET=IB
  two b-proto-ll sick nccl-settings two-hosts gpu-b:NCCL_PROTO=LL
  two a-ring-b-tree sick nccl-settings two-hosts gpu-a:NCCL_ALGO=Ring gpu-b:NCCL_ALGO=Tree
  two a-proto-not-forwarded sick env-not-forwarded two-hosts gpu-a:NCCL_PROTO=Simple
  [ -z "${OTHER_NCCL:-}" ] || two b-other-version sick version-skew two-hosts "gpu-b:LD_LIBRARY_PATH=$OTHER_NCCL:$OPAL_PREFIX/lib"
  two b-no-library sick library-build two-hosts "gpu-b:ABSENT=${LD_LIBRARY_PATH%%:*}"
  two b-no-mpi sick launcher-setup two-hosts "gpu-b:ABSENT=$OPAL_PREFIX/bin"
  limit=45 before="taskset -c 0" two hosts-one-core sick cpu-affinity two-hosts
  where=gpu-b signalled b-rank-killed process-killed KILL
  limit=60
  if ip netns exec gpu-b tc qdisc add dev eth0 root tbf rate 1gbit burst 1mb latency 50ms; then
    args="all_reduce 8 $((64 * mebi)) 4 2" two b-slow-link sick slow-link two-hosts
    ip netns exec gpu-b tc qdisc del dev eth0 root
  fi
}

# they wait together, since none of them reaches the GPUs' links
hangs() {
  limit=30
  "$here/hosts.sh" address br0
  "$here/hosts.sh" address eth1
  args="-w 1 $args_one" one rank-waits sick "" two-gpus &
  two bridge-first sick bootstrap-interface two-hosts &
  two ifname-not-forwarded sick env-not-forwarded two-hosts gpu-a:NCCL_SOCKET_IFNAME=eth0 &
  two a-loopback sick bootstrap-interface two-hosts gpu-a:NCCL_SOCKET_IFNAME=lo gpu-b:NCCL_SOCKET_IFNAME=eth0 &
  two a-eth0-b-bridge sick bootstrap-interface two-hosts gpu-a:NCCL_SOCKET_IFNAME=eth0 gpu-b:NCCL_SOCKET_IFNAME=br0 &
  two firewall-drops sick firewall two-hosts both:NCCL_SOCKET_IFNAME=eth1 &
  wait
  "$here/hosts.sh" no-address br0
  "$here/hosts.sh" no-address eth1
}

trap 'index; clean; kill $(jobs -p) 2>/dev/null; "$here/hosts.sh" down; rm -rf "$work"' EXIT
trap 'exit 124' TERM
"$here/hosts.sh" up || exit 1
for p in $phases; do
  $p
  echo "plant.sh: $p: $SECONDS s" >&2
done
