#!/bin/sh
# Makes the network namespace whose netlink dumps stand beside this file, runs a command in it and removes it.
#   namespace.sh go test -run TestDecodeNetlink -capture .
set -eu
ns=rwfacts$$
ip netns add "$ns"
ip netns add "$ns-peer"
trap 'ip netns del "$ns"; ip netns del "$ns-peer"' EXIT
ip -n "$ns" link set lo up
for i in 1 2 3; do
    ip -n "$ns" link add "eth$i" address "02:00:00:00:01:0$i" type veth peer name "p$i" address "02:00:00:00:02:0$i" netns "$ns-peer"
    ip -n "$ns" link set "eth$i" mtu 9000 addrgenmode none
done
for i in 1 2; do
    ip -n "$ns" addr add "10.64.0.$((2 * i + 1))/31" dev "eth$i"
    ip -n "$ns" link set "eth$i" up
    ip -n "$ns-peer" link set "p$i" up
    ip -n "$ns" route add default via "10.64.0.$((2 * i))" dev "eth$i" table "$((1000 + i))" proto static
    ip -n "$ns" rule add from "10.64.0.$((2 * i + 1))" table "$((1000 + i))" priority "$((100 + i))"
done
ip -n "$ns" addr add fd00:64::3/64 dev eth1 nodad
ip -n "$ns" addr add 10.65.0.1 peer 10.65.0.2/32 dev eth2
ip -n "$ns" link add br0 address 02:00:00:00:03:01 type bridge
ip -n "$ns" route add 10.96.0.0/12 metric 50 src 10.64.0.3 nexthop via 10.64.0.2 dev eth1 nexthop via 10.64.0.4 dev eth2
ip -n "$ns" route add 10.80.0.0/16 via inet6 fd00:64::2 dev eth1
ip -n "$ns" route add 10.81.0.0/16 nexthop via inet6 fd00:64::2 dev eth1 nexthop via 10.64.0.4 dev eth2
ip -n "$ns" route add blackhole 10.97.0.0/16
ip -n "$ns" route add 10.98.0.0/16 dev eth2 scope link table 70000
ip -n "$ns" rule add to 10.64.1.85/16 iif eth1 table 70000 priority 200
ip -n "$ns" rule add fwmark 0x10 table 100 priority 300
ip -n "$ns" rule add from 10.66.0.0/16 unreachable priority 400
ip -n "$ns" neigh add 10.64.0.2 lladdr 02:00:00:00:02:01 dev eth1 nud permanent
ip -n "$ns" neigh add 10.64.0.4 lladdr 02:00:00:00:02:02 dev eth2 nud stale
ip -n "$ns" neigh add 10.65.0.2 lladdr 02:00:00:00:02:03 dev eth2 nud noarp
ip -n "$ns" neigh add 10.64.0.9 dev eth1 nud failed 2>/dev/null || true
ip netns exec "$ns" "$@"
