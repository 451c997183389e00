sys=/sys
tools='mlnx_qos cma_roce_tos'
units=nic
hint='a NIC whose firmware runs DCBX takes its settings from the switch: railwright-nic-qos options, then restart the host'

pci_of() { basename "$(readlink -f "$sys/class/net/$1/device")"; }
rdma_of() { basename "$(find -L "$sys/class/net/$1/device/infiniband" -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1)"; }

# The driver of MLNX_OFED has ECN per priority in sysfs; that of the kernel has only how CNPs leave, in debugfs, and the
# priorities that react to marks are a stored option.
ecn_folder() { echo "$sys/class/net/$1/ecn"; }
cc_folder() { echo "$sys/kernel/debug/mlx5/$(pci_of "$1")/cc_params"; }

# MLNX_OFED can give every packet of a device one traffic class. The driver of the kernel cannot: there applications choose
# it (NCCL_IB_TC of nccl.env), or rdma_cm does.
tclass_file() { echo "$sys/class/infiniband/$(rdma_of "$1")/tc/1/traffic_class"; }
has_tclass() { [ -e "$(tclass_file "$1")" ] || [ -d "$(ecn_folder "$1")" ]; }

have() {
	mlnx_qos -i "$1" | tr -d '\r' | awk '
		/^DCBX mode: OS controlled/ { print "dcbx os" }
		/^Priority trust state:/ { print "trust " $NF }
		/prio:[0-7] dscp:/ { split($1, a, ":"); sub("dscp:", "", $2); n = split($2, d, ","); for (i = 1; i <= n; i++) if (d[i] != "") of[a[2]] = of[a[2]] " " d[i] + 0; seen = 1 }
		/^[ \t]+enabled( +[01])+/ { $1 = ""; print "pfc" $0 }
		/^tc: / { tc = $2; algorithm = $0; sub(/.*tsa: /, "", algorithm); sub(/,.*/, "", algorithm); percent = $0
			if (sub(/.*bw: /, "", percent)) sub(/%.*/, "", percent); else percent = ""
			print "class " tc " " algorithm (percent == "" ? "" : " " percent) }
		/^[ \t]+priority: +[0-7]$/ { print "priority " $2 " class " tc }
		END { if (seen) for (p = 0; p < 8; p++) print "priority " p " dscp" of[p] }' | sed 's/ *$//'
	if [ -d "$(ecn_folder "$1")" ]; then
		echo "ecn $(cat "$(ecn_folder "$1")/roce_np/enable/$roce_priority") $(cat "$(ecn_folder "$1")/roce_rp/enable/$roce_priority")"
		echo "cnp dscp $(cat "$(ecn_folder "$1")/roce_np/cnp_dscp")"
		echo "cnp priority $(cat "$(ecn_folder "$1")/roce_np/cnp_802p_prio")"
	elif [ -d "$(cc_folder "$1")" ]; then
		mask=$(stored "$1" ROCE_CC_PRIO_MASK current)
		[ -z "$mask" ] || echo "ecn $((mask >> roce_priority & 1)) $((mask >> roce_priority & 1))"
		echo "cnp dscp $(cat "$(cc_folder "$1")/np_cnp_dscp")"
		echo "cnp priority $(cat "$(cc_folder "$1")/np_cnp_prio")"
	fi
	rdma=$(rdma_of "$1")
	[ -n "$rdma" ] || return 1
	! has_tclass "$1" || sed -n 's/^Global tclass=/tclass /p' "$(tclass_file "$1")"
	echo "tos $(cma_roce_tos -d "$rdma" | tail -n 1)"
}

want() {
	printf '%s\n' "dcbx os" "trust dscp" "priority $roce_priority dscp $roce_dscp" "priority $cnp_priority dscp $cnp_dscp"
	for p in 0 1 2 3 4 5 6 7; do echo "priority $p class $(class_of "$p")"; done
	printf '%s\n' "class 0 ets $((100 - share))" "class 1 ets $share" "class 2 strict" "pfc $(pfc_list ' ')"
	printf '%s\n' "ecn $ecn $ecn" "cnp dscp $cnp_dscp" "cnp priority $cnp_priority" "tos $((roce_dscp * 4))"
	! has_tclass "$1" || echo "tclass $((roce_dscp * 4))"
}

# class_of PRIORITY: class 0 is for all other packets, 1 for RoCE, 2 for CNPs.
class_of() { case "$1" in "$roce_priority") echo 1 ;; "$cnp_priority") echo 2 ;; *) echo 0 ;; esac; }

# list FUNCTION SEPARATOR prints a function's value for each priority.
list() {
	line=
	for p in 0 1 2 3 4 5 6 7; do line=$line$2$("$1" "$p"); done
	echo "${line#"$2"}"
}
paused() { if [ "$lossless$1" = "1$roce_priority" ]; then echo 1; else echo 0; fi; }
pfc_list() { list paused "$1"; }

put() {
	failures=0 rdma=$(rdma_of "$1")
	[ -n "$rdma" ] || { say "$1: no RDMA device"; return 1; }
	mlnx_qos -i "$1" --dcbx os >/dev/null || failures=1 # first: the firmware takes nothing else while it negotiates
	mlnx_qos -i "$1" --trust dscp >/dev/null || failures=1
	# By default eight values share a priority: the others leave those of RoCE and of CNPs.
	for dscp in $(have "$1" | sed -n "s/^priority [$roce_priority$cnp_priority] dscp//p"); do
		[ "$dscp" = "$roce_dscp" ] || [ "$dscp" = "$cnp_dscp" ] || mlnx_qos -i "$1" --dscp2prio "set,$dscp,0" >/dev/null || failures=1
	done
	mlnx_qos -i "$1" --dscp2prio "set,$roce_dscp,$roce_priority" >/dev/null || failures=1
	mlnx_qos -i "$1" --dscp2prio "set,$cnp_dscp,$cnp_priority" >/dev/null || failures=1
	mlnx_qos -i "$1" --prio_tc "$(list class_of ,)" --tsa ets,ets,strict,strict,strict,strict,strict,strict \
		--tcbw "$((100 - share)),$share,0,0,0,0,0,0" >/dev/null || failures=1
	mlnx_qos -i "$1" --pfc "$(pfc_list ,)" >/dev/null || failures=1
	if [ -d "$(ecn_folder "$1")" ]; then
		echo "$ecn" >"$(ecn_folder "$1")/roce_np/enable/$roce_priority" || failures=1
		echo "$ecn" >"$(ecn_folder "$1")/roce_rp/enable/$roce_priority" || failures=1
		echo "$cnp_dscp" >"$(ecn_folder "$1")/roce_np/cnp_dscp" || failures=1
		echo "$cnp_priority" >"$(ecn_folder "$1")/roce_np/cnp_802p_prio" || failures=1
	elif [ -d "$(cc_folder "$1")" ]; then
		echo 1 >"$(cc_folder "$1")/np_cnp_prio_mode" || failures=1
		echo "$cnp_dscp" >"$(cc_folder "$1")/np_cnp_dscp" || failures=1
		echo "$cnp_priority" >"$(cc_folder "$1")/np_cnp_prio" || failures=1
	else
		say "$1: the driver shows no congestion control"
		failures=1
	fi
	! has_tclass "$1" || echo "$((roce_dscp * 4))" >"$(tclass_file "$1")" || failures=1
	cma_roce_tos -d "$rdma" -t "$((roce_dscp * 4))" >/dev/null || failures=1
	return "$failures"
}

# Stored options of a port. Without the last three the firmware negotiates DCBX with the switch by itself.
want_options() {
	printf '%s\n' "ROCE_CC_PRIO_MASK=$((ecn << roce_priority))" "CNP_DSCP=$cnp_dscp" "CNP_802P_PRIO=$cnp_priority" \
		LLDP_NB_DCBX=0 LLDP_NB_RX_MODE=0 LLDP_NB_TX_MODE=0
}
have_options() { for option in $(want_options); do echo "${option%%=*}=$(stored "$1" "${option%%=*}" next)"; done; }

# port_of NIC: the first PCI function of a card is its port 1.
port_of() { echo "P$(($(pci_of "$1" | sed 's/.*\.//') + 1))"; }

# stored NIC OPTION current | next prints a stored option as a number: what holds now, or after the next start. The tools of
# MFT and of mstflint have the same words; with -e they print default, current and next.
stored() {
	config "$1" -e query "${2}_$(port_of "$1")" 2>/dev/null | tr -d '\r' | awk -v name="${2}_$(port_of "$1")" -v next_boot="$([ "$3" = next ] && echo 1)" '
		{ for (i = 1; i < NF; i++) if ($i == name) {
			v = NF - i == 3 ? (next_boot ? $(i + 3) : $(i + 2)) : $(i + 1)
			if (v ~ /\(/) { sub(/.*\(/, "", v); sub(/\).*/, "", v) }
			print v } }' | tail -n 1 |
		{ read -r value && case "$value" in 0[xX]* | [0-9]*) echo "$((value))" ;; esac; }
}
config() {
	address=$(pci_of "$1")
	shift
	if command -v mlxconfig >/dev/null 2>&1; then mlxconfig -y -d "$address" "$@"; else mstconfig -y -d "$address" "$@"; fi
}

put_options() {
	port=$(port_of "$1")
	set -- "$1" set
	for option in $(want_options); do set -- "$@" "${option%%=*}_$port=${option#*=}"; done
	config "$@" >&2
}
