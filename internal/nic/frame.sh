
# From here on the same for every vendor. have and want print a setting a line, in the same words: what is wanted and
# is not there is set, and what was set is read again. An exit status of a vendor's tool alone says nothing.

say() { printf 'railwright-nic-qos: %s\n' "$*" >&2; }

# lacks FUNCTION-OF-WHAT-IS-THERE FUNCTION-OF-WHAT-IS-WANTED UNIT prints what is wanted and is not there.
lacks() { "$2" "$3" | grep -Fxv -e "$("$1" "$3")"; }

# oneline prints lines with commas between them.
oneline() { printf '%s\n' "$1" | paste -s -d, - | sed 's/,/, /g'; }

# each UNIT: brings about (set) or compares (check) the settings of what is wanted.
each() {
	missing=$(lacks "$have" "$want" "$1")
	if [ -n "$missing" ] && [ "$change" = yes ]; then
		"$put" "$1" || say "$1: a command failed, see above"
		missing=$(lacks "$have" "$want" "$1")
		changed=yes
	fi
	if [ -n "$missing" ]; then
		say "$1: not in effect: $(oneline "$missing")"
		return 1
	fi
	say "$1: as planned"
}

# await waits until the NICs have their RDMA devices, whose driver comes after that of the interface: 30 seconds at most.
await() {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		waits=
		for nic in $nics; do
			[ ! -e "$sys/class/net/$nic/device" ] || [ -e "$sys/class/net/$nic/device/infiniband" ] || waits=$nic
		done
		[ -n "$waits" ] || return 0
		sleep 1
	done
	say "$waits: no RDMA device after $i seconds"
}

all() {
	failed=0 changed=no
	for tool in $tools; do
		command -v "$tool" >/dev/null 2>&1 || { say "$tool is not installed: nothing is known of the NICs"; failed=1; }
	done
	[ "$failed" = 0 ] || return 1
	[ "$1" != set ] || await
	for nic in $nics; do
		[ -e "$sys/class/net/$nic/device" ] || { say "$nic: there is no such NIC"; failed=1; continue; }
		[ "$units" = host ] || each "$nic" || failed=1
	done
	[ "$units" = nic ] || each host || failed=1
	return "$failed"
}

case "${1-}" in
set) change=yes have=have want=want put=put ;;
check) change=no have=have want=want put=put ;;
options) change=yes have=have_options want=want_options put=put_options ;;
check-options) change=no have=have_options want=want_options put=put_options ;;
*)
	say "usage: railwright-nic-qos set | check | options | check-options"
	exit 64
	;;
esac
all "$1"
status=$?
if [ "$1" = options ] && [ "$changed" = yes ]; then
	say "stored options take effect after a restart of the host"
fi
if [ "$1" = set ] && [ "$status" != 0 ]; then
	say "$hint"
fi
exit "$status"
