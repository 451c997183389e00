#!/bin/sh
# Written by railwright from the plan; a change here is lost when it is rendered again.
#
# Clears ACS redirect on every PCI bridge above a GPU or RDMA NIC, so that traffic between them is forwarded by the
# nearest switch instead of the root complex. Only the two redirect bits move traffic (PCI Express Base Specification
# 5.0, 7.7.8.3): the other bits, and every other bridge, stay as they are. Each bridge is read back.
#
# usage: railwright-acs [-n RDMA_DEVICES] [NIC ...]
# Waits for the named interfaces and for so many RDMA devices: at boot their drivers may still be loading.
#
# Exit status: 0 every bridge is clear; 1 one is not, or could not be read; 3 refused: a virtual machine, or a host of
# virtual machines, where ACS keeps them apart. The result is in /run/railwright/acs.json until the next boot.
set -u
LC_ALL=C
export LC_ALL

result=/run/railwright/acs.json
pci=/sys/bus/pci/devices
redirect=$((0x000c)) # request redirect, completion redirect
patience=60          # seconds
bridges=0
cleared=''
left=''

say() { echo "railwright-acs: $*"; }

# list writes words as JSON strings. PCI addresses need no quoting.
list() {
	separator=''
	for word in $1; do
		printf '%s"%s"' "$separator" "$word"
		separator=,
	done
}

# finish STATE STATUS [REASON]
finish() {
	reason=$(printf '%s' "${3-}" | tr -d '"\\' | tr '\000-\037' ' ')
	[ -z "$reason" ] || say "$1: $reason" >&2
	if ! mkdir -p "${result%/*}" || ! printf '{"apiVersion":"railwright.dev/v1alpha1","kind":"ACSResult","state":"%s","reason":"%s","bridges":%d,"cleared":[%s],"left":[%s]}\n' \
		"$1" "$reason" "$bridges" "$(list "$cleared")" "$(list "$left")" >"$result.new" || ! mv "$result.new" "$result"; then
		say "failed: the result could not be written to $result" >&2
		exit 1
	fi
	exit "$2"
}

# refuse ends on a machine where the hypervisor needs ACS.
refuse() { finish refused 3 "$1: ACS stays as it is"; }

bare_metal() {
	[ -r /proc/cpuinfo ] || finish failed 1 "/proc/cpuinfo cannot be read: whether this is a virtual machine is unknown"
	if grep -q '^flags.*[[:space:]]hypervisor\([[:space:]]\|$\)' /proc/cpuinfo; then
		refuse "this is a virtual machine (CPU flag hypervisor)"
	fi
	# Arm has no such flag.
	if command -v systemd-detect-virt >/dev/null && vm=$(systemd-detect-virt --vm); then
		refuse "this is a virtual machine ($vm)"
	fi
	if grep -qs control_d /proc/xen/capabilities; then
		refuse "this is the control domain of Xen"
	fi
	[ -d /sys/module/kvm ] || return 0
	for device in /sys/bus/pci/drivers/vfio-pci/*:*; do
		[ ! -e "$device" ] || refuse "KVM is loaded and vfio-pci has ${device##*/}: a host of virtual machines"
	done
	if grep -q 'vfio-pci[.]ids=' /proc/cmdline; then
		refuse "KVM is loaded and the kernel command line gives devices to vfio-pci: a host of virtual machines"
	fi
}

# await sets count to the RDMA devices once all are there.
await() {
	waited=0
	while :; do
		absent='' count=0
		for nic in "$@"; do
			[ -e "/sys/class/net/$nic/device" ] || absent="$absent $nic"
		done
		for hca in /sys/class/infiniband/*/device; do
			[ ! -e "$hca" ] || count=$((count + 1))
		done
		[ -n "$absent" ] || [ "$count" -lt "$wanted" ] || return 0
		[ "$waited" -lt "$patience" ] || return 0
		sleep 1
		waited=$((waited + 1))
	done
}

# path prints where a link ends, or that it was not read.
path() { readlink -f "$1" || echo "unread ${1##*/}"; }

# paths prints the path below /sys/devices of every GPU, named NIC and RDMA device.
paths() {
	for device in "$pci"/*; do
		if ! read -r class <"$device/class" || ! read -r vendor <"$device/vendor"; then
			echo "unread ${device##*/}"
			continue
		fi
		case $class:$vendor in
		# Display controllers and accelerators of NVIDIA and AMD: a BMC has a display controller of another vendor.
		0x0300??:0x10de | 0x0302??:0x10de | 0x0380??:0x10de | 0x1200??:0x10de | 0x0300??:0x1002 | 0x0302??:0x1002 | 0x0380??:0x1002 | 0x1200??:0x1002)
			path "$device"
			;;
		esac
	done
	for nic in "$@"; do
		path "/sys/class/net/$nic/device"
	done
	for hca in /sys/class/infiniband/*/device; do
		[ ! -e "$hca" ] || path "$hca"
	done
}

# above prints the PCI functions above those paths, each once. The last function of a path is the device itself.
above() {
	tr / '\n' | awk '
		/^pci[0-9a-f]+:[0-9a-f]+$/ { last = "" }
		/^[0-9a-f]+:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f][.][0-7]$/ { if (last != "" && !seen[last]++) print last; last = $0 }'
}

# is_hex4 tells a register from everything else that setpci may print. All ones come from a device that is gone.
is_hex4() {
	case $1 in
	ffff | *[!0-9a-f]*) return 1 ;;
	????) return 0 ;;
	esac
	return 1
}

leave() {
	left="$left $1"
	say "$1: $2" >&2
}

clear_bridge() {
	read -r class <"$pci/$1/class" || class='nothing'
	case $class in
	0x0604??) ;;
	*)
		leave "$1" "class is $class, not that of a bridge"
		return
		;;
	esac
	bridges=$((bridges + 1))
	if control=$(setpci -s "$1" ECAP_ACS+6.w 2>&1); then
		is_hex4 "$control" || {
			leave "$1" "ACS control reads as \"$control\""
			return
		}
	else
		# Without extended configuration space every capability there is "not found". A conventional bridge has none.
		case $control in *"not found"*) ;; *)
			leave "$1" "ACS was not read: $control"
			return
			;;
		esac
		size=$(head -c 4096 "$pci/$1/config" | wc -c)
		if [ "$size" -lt 4096 ] && express=$(setpci -s "$1" CAP_EXP.w 2>/dev/null) && [ -n "$express" ]; then
			leave "$1" "extended configuration space was not read: $((size)) of 4096 bytes"
		fi
		return
	fi
	[ $((0x$control & redirect)) -ne 0 ] || return
	# Value and mask: clears bits 2 and 3, leaves the others.
	said=$(setpci -s "$1" ECAP_ACS+6.w=0000:000c 2>&1) || say "$1: $said" >&2
	now=$(setpci -s "$1" ECAP_ACS+6.w 2>&1)
	if is_hex4 "$now" && [ $((0x$now & redirect)) -eq 0 ]; then
		cleared="$cleared $1"
		say "$1: ACS control was $control, is $now"
	else
		leave "$1" "ACS control was $control, is \"$now\" after it was cleared"
	fi
}

wanted=0
if [ "${1-}" = -n ]; then
	wanted=${2-}
	case $wanted in '' | *[!0-9]*)
		say "usage: railwright-acs [-n RDMA_DEVICES] [NIC ...]" >&2
		exit 1
		;;
	esac
	shift 2
fi
rm -f "$result"
[ "$(id -u)" = 0 ] || finish failed 1 "must run as root"
bare_metal
command -v setpci >/dev/null || finish failed 1 "setpci is missing: install pciutils"
await "$@"
[ -z "$absent" ] || finish failed 1 "no PCI device of$absent: its bridges were not looked at"
[ "$count" -ge "$wanted" ] || finish failed 1 "$count RDMA devices, not $wanted: the bridges of the others were not looked at"
found=$(paths "$@")
for device in $(printf '%s\n' "$found" | sed -n 's/^unread //p'); do
	leave "$device" "what it is was not read"
done
for bridge in $(printf '%s\n' "$found" | above); do
	clear_bridge "$bridge"
done
if [ -n "$left" ]; then
	lock=''
	grep -qs '\[integrity\]\|\[confidentiality\]' /sys/kernel/security/lockdown && lock=' (the kernel is locked down: with Secure Boot it lets nobody write configuration space)'
	finish failed 1 "not cleared:$left$lock"
fi
[ "$bridges" -gt 0 ] || finish failed 1 "no bridge above a GPU or RDMA NIC was found"
say "$bridges bridges clear"
finish cleared 0
