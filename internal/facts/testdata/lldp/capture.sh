#!/bin/sh
# Captures what lldpd says of its neighbours, and what the real networkd saves of one of them. Two network
# namespaces stand for a host and a switch; lldpd runs in both; its system name is that of its UTS namespace.
# Needs root, lldpd and systemd-networkd. Writes lldpcli.json and networkd.hex into the folder given.
set -eu
out=$1
ns=rwlldp$$
dir=$(mktemp -d)
chmod 755 "$dir" # lldpcli drops its privileges
pids=
finish() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    wait
    ip netns del "$ns-host"
    ip netns del "$ns-leaf"
    rm -rf "$dir"
}
ip netns add "$ns-host"
ip netns add "$ns-leaf"
trap finish EXIT
for i in 1 2; do
    ip -n "$ns-host" link add "eth$i" address "02:00:00:00:01:0$i" type veth peer name "p1_$i" address "02:00:00:00:02:0$i" netns "$ns-leaf"
    ip -n "$ns-host" link set "eth$i" up
    ip -n "$ns-leaf" link set "p1_$i" up
done
for side in host leaf; do
    ip netns exec "$ns-$side" unshare -u sh -c "hostname $side-1; exec lldpd -d -u $dir/$side.sock" 2>"$dir/$side.log" &
    pids="$pids $!"
done
sleep 2
# Only one of the leaf's ports names itself by interface: both forms of a port id are seen.
lldpcli -u "$dir/leaf.sock" configure system description railwright >/dev/null
lldpcli -u "$dir/leaf.sock" configure ports p1_2 lldp portidsubtype local "Ethernet1/2" >/dev/null
# networkd gets a /run of its own, and a read-only /sys, so that it does not wait for udev.
ip netns exec "$ns-host" unshare -m sh -eu -s "$dir" <<'NETWORKD' &
umount -l /sys
mount -t sysfs -o ro sysfs /sys
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/network /run/systemd/netif/lldp /run/systemd/netif/links /run/systemd/netif/leases
chown -R systemd-network:systemd-network /run/systemd/netif
printf '[Match]\nName=eth2\n[Network]\nLLDP=yes\nLinkLocalAddressing=no\nAddress=10.64.0.3/31\n' >/run/systemd/network/10-eth2.network
timeout 8 /lib/systemd/systemd-networkd 2>"$1/networkd.log" &
sleep 6
od -An -v -tx1 /run/systemd/netif/lldp/* | tr -d ' ' >"$1/networkd.hex"
wait
NETWORKD
networkd=$!
sleep 3
lldpcli -u "$dir/leaf.sock" update >/dev/null
wait "$networkd" || true # timeout ends it
cp "$dir/networkd.hex" "$out/networkd.hex"
sleep 2
lldpcli -u "$dir/host.sock" -f json0 show neighbors >"$out/lldpcli.json"
