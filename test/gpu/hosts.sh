#!/bin/bash
# Makes "hosts" on one machine, gpu-a, gpu-b and so on, $HOST_COUNT of them (2 by itself, 4 at most): each a network
# namespace with its own interfaces and a host name of its own, joined by virtual Ethernet pairs and a bridge, so that
# mpirun starts a daemon on the others and NCCL takes their ranks for those of several machines. The folder $HOSTS holds
# what the hosts share.
#
#   hosts.sh up            makes them; interfaces in the order of their index, of which eth0 alone has an address:
#                                br0    leads nowhere, and has the same address on all, as a bridge of containers does
#                                eth0   10.0.0.1, 10.0.0.2 and so on
#                                eth1   all that is sent on it is swallowed, as a firewall that drops does
#   hosts.sh address IFACE   gives br0 or eth1 its addresses: 10.9.0.1 on all; 10.0.1.1, 10.0.1.2 and so on
#   hosts.sh no-address IFACE  takes them away
#   hosts.sh down          removes them, and ends what still runs there
#   hosts.sh on HOST ...   runs a command on a host, with the host's GPUs of the words in $HOST_GPUS (by itself "0 1 2 3");
#                              the folder $ABSENT, if set, is empty there
#   hosts.sh agent LOGIN HOST [...]  what mpirun calls instead of ssh: a shell on HOST gets the rest as one line; as
#                              with ssh its environment is that of a login, the lines of the file LOGIN, not the caller's
set -euo pipefail
self=$(readlink -f "$0")
hosts=${HOSTS:?folder}

letters=(a b c d)
letters=("${letters[@]:0:${HOST_COUNT:-2}}")

# number of a host's letter, from 1
number() {
  local all=abcd
  all=${all%%"$1"*}
  echo $((${#all} + 1))
}

swallow() { # IFACE: a far end of each host's interface that takes packets and answers none
  local l
  for l in "${letters[@]}"; do
    ip link add "$1" netns gpu-$l type veth peer name "$1$l" netns gpu-sink
    ip -n gpu-sink link set "$1$l" up
  done
}

address() { # IFACE
  local l m n address
  for l in "${letters[@]}"; do
    n=$(number $l) address=10.0.0.$n
    case $1 in br0) address=10.9.0.1 ;; eth1) address=10.0.1.$n ;; esac
    ip -n gpu-$l addr replace $address/24 dev "$1"
    [ "$1" = eth1 ] || continue
    # neighbours are known, so that packets leave and are swallowed, where else "no route" would come back
    for m in "${letters[@]}"; do
      [ $m = $l ] || ip -n gpu-$l neigh replace 10.0.1.$(number $m) lladdr 02:00:00:00:00:01 nud permanent dev eth1
    done
  done
}

up() {
  local l i
  mkdir -p "$hosts"
  ip netns add gpu-sink
  for l in "${letters[@]}"; do ip netns add gpu-$l; done
  swallow br0
  ip -n gpu-sink link add fabric type bridge
  ip -n gpu-sink link set fabric up
  for l in "${letters[@]}"; do
    ip link add eth0 netns gpu-$l type veth peer name eth0$l netns gpu-sink
    ip -n gpu-sink link set eth0$l master fabric up
  done
  swallow eth1
  for l in "${letters[@]}"; do
    for i in br0 eth0 eth1; do ip -n gpu-$l link set $i addrgenmode none; done # no IPv6 address, which NCCL would take
    for i in lo br0 eth0 eth1; do ip -n gpu-$l link set $i up; done
  done
  address eth0
  echo '127.0.0.1 localhost' >"$hosts/hosts"
  for l in "${letters[@]}"; do echo "10.0.0.$(number $l) gpu-$l"; done >>"$hosts/hosts"
}

down() {
  for h in "${letters[@]/#/gpu-}"; do
    for _ in $(seq 50); do # a process that is in a kernel of the GPU takes a while to end
      ip netns pids $h 2>/dev/null | xargs -r kill -s KILL 2>/dev/null || break
      [ -n "$(ip netns pids $h 2>/dev/null)" ] || break
      sleep 0.2
    done
  done
  for h in "${letters[@]/#/gpu-}" gpu-sink; do ip netns del $h 2>/dev/null || true; done
}

on() { # HOST COMMAND...
  local host=$1 gpus
  shift
  read -ra gpus <<<"${HOST_GPUS:-0 1 2 3}"
  gpus=${gpus[$(number "${host#gpu-}") - 1]}
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
  no-address) for h in "${letters[@]/#/gpu-}"; do ip -n $h addr flush dev "$2"; done ;;
  *) echo "hosts.sh: \"$1\": unknown" >&2; exit 64 ;;
esac
