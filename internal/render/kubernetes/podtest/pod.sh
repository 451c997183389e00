#!/bin/sh
# Runs in the test pods: finds the RDMA devices and GPUs that this pod was given, and starts the tests on them.
#
#   pod.sh devices                        a line for each RDMA device: name, PCI address, link layer, state of its port, GID index
#                                         (- on InfiniBand), and the pod's nearest GPU (- where it has none)
#   pod.sh perftest host|gpu I PORT [TO]  ib_write_bw over device number I, from 0: the server, or the client of the server at TO
#   pod.sh listening PORT                 waits until the server listens
#   pod.sh stop PORT                      ends that server, which would wait for a client that failed
#   pod.sh sshd                           the SSH server by which mpirun starts ranks, with the keys that are mounted
#   pod.sh mpirun RANKS HOSTS TEST...     a test of collectives; HOSTS - where the MPI operator names them
#   pod.sh rank COMMAND...                a rank, with the environment of collectives of this pod
#
# In the environment: GPU_VENDOR (nvidia, amd), and DMABUF=yes or no, by which way GPU memory is registered (perftest).
set -eu

sys=${SYS:-/sys}
dev=${DEV:-/dev}
proc=${PROC:-/proc}
here=${0%/*}
state=${STATE:-/run/railwright}
keys=${KEYS:-/root/.ssh}

fail() {
    printf 'pod.sh: %s\n' "$*" >&2
    exit 2
}

# rdma prints the pod's RDMA devices, ordered by PCI address: "ADDRESS NAME". /sys shows those of the whole machine; this pod was
# given those whose character device it has.
rdma() {
    for v in "$sys"/class/infiniband_verbs/uverbs*; do
        [ -r "$v/ibdev" ] && [ -e "$dev/infiniband/${v##*/}" ] || continue
        read -r name <"$v/ibdev"
        at=$(readlink -f "$sys/class/infiniband/$name/device") || continue
        printf '%s %s\n' "${at##*/}" "$name"
    done | sort
}

# gpus prints the pod's GPUs: "ADDRESS INDEX", with the index by which the runtime of their vendor counts them.
gpus() {
    case ${GPU_VENDOR:-} in
    nvidia)
        command -v nvidia-smi >/dev/null 2>&1 || return 0
        # 00000000:18:00.0: NVML writes the domain in eight digits, the kernel in four or more.
        nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader 2>/dev/null | tr 'A-F' 'a-f' |
            sed -n 's/^ *\(0000\)\{0,1\}\([0-9a-f]\{4\}:[0-9a-f]\{2\}:[0-9a-f]\{2\}\.[0-7]\) *$/\2/p' |
            awk '{print $1, NR - 1}'
        ;;
    amd)
        # HIP counts the nodes of KFD that are GPUs (gpu_id is not 0) and that this pod can open.
        i=0
        for n in $(cd "$sys/class/kfd/kfd/topology/nodes" 2>/dev/null && printf '%s\n' * | sort -n); do
            node=$sys/class/kfd/kfd/topology/nodes/$n
            [ -r "$node/gpu_id" ] && [ "$(cat "$node/gpu_id")" != 0 ] || continue
            render=renderD$(sed -n 's/^drm_render_minor //p' "$node/properties")
            [ -e "$dev/dri/$render" ] || continue
            at=$(readlink -f "$sys/class/drm/$render/device") || continue
            printf '%s %s\n' "${at##*/}" "$i"
            i=$((i + 1))
        done
        ;;
    esac
}

# paths adds to each line that begins with a PCI address the path of that device through the PCI tree.
paths() {
    while read -r at rest; do
        printf '%s %s %s\n' "$(readlink -f "$sys/bus/pci/devices/$at")" "$at" "$rest"
    done
}

# gid prints the index of the GID of a RoCE device: the first of RoCE v2 with an IPv4 address, else the first of RoCE v2 that is not
# of the link alone. A line of an empty entry cannot be read.
gid() {
    best=
    for t in $(cd "$1/gid_attrs/types" 2>/dev/null && printf '%s\n' * | sort -n); do
        [ "$(cat "$1/gid_attrs/types/$t" 2>/dev/null)" = "RoCE v2" ] || continue
        case $(cat "$1/gids/$t" 2>/dev/null) in
        0000:0000:0000:0000:0000:ffff:*)
            echo "$t"
            return
            ;;
        '' | fe80:* | 0000:0000:0000:0000:0000:0000:0000:0000) ;;
        *) best=${best:-$t} ;;
        esac
    done
    echo "${best:--}"
}

# devices: the nearest GPU is the one whose path through the PCI tree shares most with that of the NIC. Where several are equally
# near, as in a virtual machine, the first NIC takes the first, the second the second.
devices() {
    list=$(gpus | paths)
    n=0
    rdma | paths | while read -r path at name; do
        port=
        for p in "$sys/class/infiniband/$name/ports/"*; do
            port=${port:-$p}
        done
        layer=$(cat "$port/link_layer" 2>/dev/null || echo unknown)
        up=$(sed 's/.*: *//' "$port/state" 2>/dev/null || echo unknown)
        index=-
        [ "$layer" != Ethernet ] || index=$(gid "$port")
        gpu=$(printf '%s\n' "$list" | awk -v nic="$path" -v n="$n" '
            NF == 3 {
                split(nic, a, "/"); split($1, b, "/")
                for (i = 1; a[i] == b[i] && a[i] != ""  || i == 1; i++);
                if (i > most) { most = i; count = 0 }
                if (i == most) near[count++] = $2 "," $3
            }
            END { print count ? near[n % count] : "-" }')
        printf '%s %s %s %s %s %s\n' "$name" "$at" "$layer" "${up:-unknown}" "$index" "$gpu"
        n=$((n + 1))
    done
}

# environment reads the variables of the plan.
environment() {
    [ -r "$here/nccl.env" ] || fail "$here/nccl.env: cannot be read"
    set -a
    # shellcheck source=/dev/null
    . "$here/nccl.env"
    set +a
}

# memory_of_gpu prints the options by which perftest takes its buffers from a GPU. With a kernel module that lends GPU memory to
# NICs it is registered as any memory; without one by DMA-BUF.
memory_of_gpu() {
    at=${1%,*}
    index=${1#*,}
    case ${GPU_VENDOR:-} in
    nvidia)
        printf '%s\n' "--use_cuda_bus_id=$at"
        dmabuf=yes
        [ ! -d "$sys/module/nvidia_peermem" ] || dmabuf=no
        [ "${DMABUF:-$dmabuf}" = no ] || printf '%s\n' --use_cuda_dmabuf
        ;;
    amd)
        [ "${DMABUF:-}" != yes ] || fail "DMABUF=yes: this perftest has DMA-BUF for CUDA only"
        printf '%s\n' "--use_rocm=$index"
        ;;
    *) fail "GPU_VENDOR=${GPU_VENDOR:-}: unknown; known: nvidia, amd" ;;
    esac
}

# perftest_run: sizes from 2 bytes to 8 MiB (-a) with four queue pairs, as "Deploy Distributed LLM Inference with GPUDirect RDMA over
# InfiniBand in VMware Private AI", F, and Broadcom's RoCE guide, 2.8.2. The program without CUDA and ROCm measures host memory, so
# that a GPU driver that is missing does not look like a slow network.
perftest_run() {
    memory=$1 number=$2 port=$3 to=${4:-}
    line=$(devices | sed -n "$((number + 1))p")
    [ -n "$line" ] || fail "RDMA device number $number: this pod has $(rdma | wc -l)"
    # shellcheck disable=SC2086 # the fields of the line
    set -- $line
    name=$1 layer=$3 index=$5 gpu=$6
    environment
    case $memory in
    host) program=${PERFTEST:-/opt/perftest}/host/bin/ib_write_bw ;;
    gpu)
        program=${PERFTEST:-/opt/perftest}/gpu/bin/ib_write_bw
        [ "$gpu" != - ] || fail "this pod has no GPU"
        ;;
    *) fail "memory $memory: unknown; known: host, gpu" ;;
    esac
    set -- "$program" -d "$name" -a -F -q 4 --report_gbits -p "$port"
    if [ "$layer" = Ethernet ]; then
        [ "$index" != - ] || fail "RDMA device $name: it has no GID of RoCE v2 with an address"
        set -- "$@" -x "$index"
        [ -z "${NCCL_IB_TC:-}" ] || set -- "$@" "--tclass=$NCCL_IB_TC"
    fi
    if [ "$memory" = gpu ]; then
        options=$(memory_of_gpu "$gpu") || exit 2
        # shellcheck disable=SC2086 # a word an option
        set -- "$@" $options
    fi
    [ -z "$to" ] || set -- "$@" "$to"
    printf '$ ib_write_bw'
    shift
    printf ' %s' "$@"
    printf '\n'
    mkdir -p "$state"
    [ -n "$to" ] || printf '%s\n' "$$" >"$state/perftest-$port"
    exec timeout -k 10 "${WITHIN:-180}" "$program" "$@"
}

# listening waits for a server, 20 seconds at most. 0A is the state LISTEN in /proc/net/tcp.
listening() {
    hex=$(printf '%04X' "$1")
    left=100
    while [ "$left" -gt 0 ]; do
        for f in "$proc/net/tcp" "$proc/net/tcp6"; do
            [ -r "$f" ] && awk -v port="$hex" '$4 == "0A" && substr($2, length($2) - 3) == port { found = 1 } END { exit !found }' "$f" && return 0
        done
        sleep 0.2
        left=$((left - 1))
    done
    fail "port $1: nothing listens on it after 20 seconds"
}

# stop ends the server of a port, if it is still there: the number is that of timeout, which takes the server along.
stop() {
    [ -r "$state/perftest-$1" ] || return 0
    read -r pid <"$state/perftest-$1"
    rm -f "$state/perftest-$1"
    kill "$pid" 2>/dev/null || true
}

# prepare keeps what a session of SSH does not have, and the key by which the pods know each other: all of them have the same one, so
# host keys are checked.
prepare() {
    mkdir -p "$state"
    chmod 0700 "$state"
    [ -r "$keys/id_rsa.pub" ] || fail "$keys/id_rsa.pub: no key is mounted"
    read -r kind key _ <"$keys/id_rsa.pub"
    printf '* %s %s\n' "$kind" "$key" >"$state/known_hosts"
    printf 'GPU_VENDOR=%s\nNODE_NAME=%s\n' "${GPU_VENDOR:-}" "${NODE_NAME:-}" >"$state/pod.env"
}

# topology prints the topology file of NCCL for the machine of this pod, where the plan has one.
topology() {
    [ -r "$here/topology" ] || return 0
    file=$(awk -v node="${NODE_NAME:-}" '$1 == node { print $2 }' "$here/topology")
    [ -n "$file" ] || return 0
    [ -r "${TOPOLOGY:-/etc/nccl-topology}/$file" ] || fail "${TOPOLOGY:-/etc/nccl-topology}/$file: cannot be read"
    printf '%s\n' "${TOPOLOGY:-/etc/nccl-topology}/$file"
}

rank() {
    if [ -r "$state/pod.env" ]; then
        # shellcheck source=/dev/null
        . "$state/pod.env"
    fi
    environment
    names=$(rdma | awk '{ printf "%s%s", sep, $2; sep = "," }')
    [ -n "$names" ] || fail "this pod has no RDMA device"
    export NCCL_IB_HCA="=$names" # exactly these: without the sign mlx5_1 is also mlx5_10
    file=$(topology) || exit 2
    [ -z "$file" ] || export NCCL_TOPO_FILE="$file"
    exec "$@"
}

# collective: MPI starts the ranks and tells them of each other, over the pods' own network; the data is NCCL's.
collective() {
    ranks=$1 hosts=$2
    shift 2
    set -- "$here/pod.sh" rank "$@"
    [ "$hosts" = - ] || set -- -H "$hosts" "$@"
    set -- --allow-run-as-root --bind-to none -np "$ranks" --mca plm_rsh_args "-F $here/ssh_config" --mca orte_keep_fqdn_hostnames t \
        --mca pml ob1 --mca btl tcp,self,vader --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "$@"
    printf '$ mpirun'
    printf ' %s' "$@"
    printf '\n'
    # Not into this process' own output: an ssh that outlives its mpirun would hold that, and whoever reads it would wait.
    : >"$state/mpirun" # before it is read: the background may begin later
    timeout -k 10 "${WITHIN:-900}" "${MPIRUN:-/opt/openmpi/bin/mpirun}" "$@" >>"$state/mpirun" 2>&1 </dev/null &
    tail -n +1 -f --pid="$!" "$state/mpirun"
    wait "$!"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb:$# in
devices:0) devices ;;
perftest:3 | perftest:4) perftest_run "$@" ;;
listening:1) listening "$1" ;;
stop:1) stop "$1" ;;
sshd:0)
    prepare
    mkdir -p /run/sshd
    exec /usr/sbin/sshd -D -e -f "$here/sshd_config"
    ;;
mpirun:*)
    [ $# -ge 3 ] || fail "mpirun: RANKS HOSTS TEST..."
    [ -e "$state/known_hosts" ] || prepare
    collective "$@"
    ;;
rank:0) fail "rank: no command" ;;
rank:*) rank "$@" ;;
*) fail "usage: devices | perftest host|gpu I PORT [TO] | listening PORT | stop PORT | sshd | mpirun RANKS HOSTS TEST... | rank COMMAND..." ;;
esac
