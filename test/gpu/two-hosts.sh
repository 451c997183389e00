#!/bin/bash
# Makes two "hosts" on one machine, gpu-a and gpu-b: each a network namespace with its own interfaces and a host name
# of its own, joined by virtual Ethernet pairs, so that mpirun starts a daemon on the second one and NCCL takes its
# ranks for those of two machines. The folder $HOSTS holds what the hosts share.
#
#   two-hosts.sh up            makes them; interfaces in the order of their index, of which eth0 alone has an address:
#                                br0    leads nowhere, and has the same address on both, as a bridge of containers does
#                                eth0   10.0.0.1 and 10.0.0.2
#                                eth1   all that is sent on it is swallowed, as a firewall that drops does
#   two-hosts.sh address IFACE   gives br0 or eth1 its addresses: 10.9.0.1 on both; 10.0.1.1 and 10.0.1.2
#   two-hosts.sh no-address IFACE  takes them away
#   two-hosts.sh down          removes them, and ends what still runs there
#   two-hosts.sh on HOST ...   runs a command on a host, with the host's GPU of those in $HOST_GPUS (default "0 1"); the
#                              folder $ABSENT, if set, is empty there
#   two-hosts.sh agent LOGIN HOST [...]  what mpirun calls instead of ssh: a shell on HOST gets the rest as one line; as
#                              with ssh its environment is that of a login, the lines of the file LOGIN, not the caller's
set -euo pipefail
self=$(readlink -f "$0")
hosts=${HOSTS:?folder}

swallow() { # IFACE: a far end of each host's interface that takes packets and answers none
  ip link add "$1" netns gpu-a type veth peer name "$1a" netns gpu-sink
  ip link add "$1" netns gpu-b type veth peer name "$1b" netns gpu-sink
  ip -n gpu-sink link set "$1a" up
  ip -n gpu-sink link set "$1b" up
}

address() { # IFACE
  local n
  for n in 1 2; do
    local host=gpu-a address=10.0.0.$n
    [ $n = 1 ] || host=gpu-b
    case $1 in br0) address=10.9.0.1 ;; eth1) address=10.0.1.$n ;; esac
    ip -n $host addr replace $address/24 dev "$1"
    # the neighbour is known, so that packets leave and are swallowed, where else "no route" would come back
    [ "$1" != eth1 ] || ip -n $host neigh replace 10.0.1.$((3 - n)) lladdr 02:00:00:00:00:01 nud permanent dev eth1
  done
}

up() {
  mkdir -p "$hosts"
  for h in gpu-a gpu-b gpu-sink; do ip netns add $h; done
  swallow br0
  ip link add eth0 netns gpu-a type veth peer name eth0 netns gpu-b
  swallow eth1
  for h in gpu-a gpu-b; do
    for i in br0 eth0 eth1; do ip -n $h link set $i addrgenmode none; done # no IPv6 address, which NCCL would take
    for i in lo br0 eth0 eth1; do ip -n $h link set $i up; done
  done
  address eth0
  printf '127.0.0.1 localhost\n10.0.0.1 gpu-a\n10.0.0.2 gpu-b\n' >"$hosts/hosts"
}

down() {
  for h in gpu-a gpu-b; do
    for _ in $(seq 50); do # a process that is in a kernel of the GPU takes a while to end
      ip netns pids $h 2>/dev/null | xargs -r kill -s KILL 2>/dev/null || break
      [ -n "$(ip netns pids $h 2>/dev/null)" ] || break
      sleep 0.2
    done
  done
  for h in gpu-a gpu-b gpu-sink; do ip netns del $h 2>/dev/null || true; done
}

on() { # HOST COMMAND...
  local host=$1 gpus
  shift
  read -ra gpus <<<"${HOST_GPUS:-0 1}"
  [ "$host" = gpu-a ] && gpus=${gpus[0]} || gpus=${gpus[1]}
  exec ip netns exec "$host" unshare -u -m bash -c \
    'hostname "$1"; mount --bind "$2" /etc/hosts; [ -z "${ABSENT:-}" ] || mount -t tmpfs tmpfs "$ABSENT"; export CUDA_VISIBLE_DEVICES=$3; shift 3; exec "$@"' - "$host" "$hosts/hosts" "$gpus" "$@"
}

agent() { # LOGIN HOST WORD...
  local host=$2 login
  mapfile -t login <"$1"
  shift 2
  exec env -i HOSTS="$hosts" "${login[@]}" "$self" on "$host" bash -c "$*"
}

case $1 in
  up) up ;;
  down) down ;;
  on) shift; on "$@" ;;
  agent) shift; agent "$@" ;;
  address) address "$2" ;;
  no-address) for h in gpu-a gpu-b; do ip -n $h addr flush dev "$2"; done ;;
  *) echo "two-hosts.sh: \"$1\": unknown" >&2; exit 64 ;;
esac
