# What this pod sees decides; what it lacks ends it, instead of a slow start over TCP.
say() { echo "railwright: $*" >&2; }
stop() {
	say "$*"
	exit 1
}

# The settings of NCCL's plug-in that the cloud has installed.
if [ "$SETTINGS" ]; then
	[ -r "$SETTINGS" ] || stop "$SETTINGS: not there; has the cloud's installer of NCCL run on this machine?"
	set +eu
	. "$SETTINGS"
	set -eu
	export LD_LIBRARY_PATH="$LIBRARIES${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi

# RDMA devices, which a group of one pod does not use: those whose device files this container was given. Programs also see the names of
# all others of the machine.
devices=
if [ "$SIZE" -gt 1 ]; then
	count=0
	for file in "$DEVICES"/uverbs*; do
		[ -e "$file" ] || continue
		name=$(cat "$SYSFS/class/infiniband_verbs/${file##*/}/ibdev" 2>/dev/null) || stop "RDMA device $file: the kernel does not say which it is"
		active=
		for port in "$SYSFS/class/infiniband/$name/ports"/*; do
			case $(cat "$port/state" 2>/dev/null) in *ACTIVE*) active=yes ;; esac
		done
		[ "$active" ] || stop "RDMA device $name: no port is active"
		devices=${devices:+$devices,}$name
		count=$((count + 1))
	done
	[ "$count" -eq "$RAILS" ] || stop "$count RDMA devices (${devices:-none}), planned are $RAILS: see resources and claims of this pod"
	if [ "$count" -gt 0 ]; then
		export NCCL_IB_HCA="=$devices" # '=': without it mlx5_1 is mlx5_10 too
	fi
fi

# The interface of the pod network, by its default route. Gloo takes one name, and neither NCCL's '=' nor its '^'.
interface=
while read -r name destination _; do
	if [ "$destination" = 00000000 ]; then
		interface=$name
		break
	fi
done <"$PROCFS/net/route"
if [ -z "$interface" ]; then # a cluster of IPv6 alone
	while read -r destination length _ _ _ _ _ _ _ name; do
		if [ "$destination$length" = 0000000000000000000000000000000000 ] && [ "$name" != lo ]; then
			interface=$name
			break
		fi
	done <"$PROCFS/net/ipv6_route"
fi
[ "$interface" ] || stop "no default route: over which interface do processes find each other?"
export NCCL_SOCKET_IFNAME="=$interface" GLOO_SOCKET_IFNAME="$interface" TP_SOCKET_IFNAME="$interface"

if [ "${NCCL_TOPO_FILE:-}" ] && [ ! -s "$NCCL_TOPO_FILE" ]; then
	stop "NCCL_TOPO_FILE: $NCCL_TOPO_FILE is missing or empty"
fi

# The first pod of the group. Its name exists once it has an address: until then there is none, and never an empty one.
if [ "$SIZE" -gt 1 ]; then
	case $RANK in '' | *[!0-9]*) stop "the number of this pod in its group is unknown: '$RANK'" ;; esac
	[ "$LEADER" ] || stop "the first pod of the group is unknown: its name is empty"
	until getent ahosts "$LEADER" >/dev/null; do
		[ "$SECONDS" -lt "$JOIN" ] || stop "$LEADER: no address after $SECONDS s"
		say "waiting for the address of $LEADER"
		sleep 5
	done
fi
say "pod ${RANK:-0} of $SIZE, leader ${LEADER:-itself}, RDMA devices ${devices:-none}, interface $interface"
