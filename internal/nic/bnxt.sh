sys=/sys
tools='niccli ethtool'
units=nic
hint='a NIC whose firmware runs DCBX or LLDP refuses settings of the host: railwright-nic-qos options, then restart the host'

pci_of() { basename "$(readlink -f "$sys/class/net/$1/device")"; }
rdma_of() { basename "$(find -L "$sys/class/net/$1/device/infiniband" -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1)"; }

# card NIC WORDS...: runs niccli on a NIC by its PCI address. Its versions take it by --dev or by -i.
card() {
	address=$(pci_of "$1")
	shift
	niccli --dev "$address" "$@" 2>/dev/null || niccli -i "$address" "$@"
}

# number TEXT prints a number as decimal: the drivers write 0x1 or 1.
number() { case "$1" in '' | *[!0-9a-fA-FxX]*) echo unreadable ;; *) echo "$(($1))" ;; esac; }

# cc NIC FUNCTION runs a function in the folder of a NIC's congestion control: configfs of Broadcom's driver, which makes it
# on request, else debugfs.
cc() {
	rdma=$(rdma_of "$1")
	[ -n "$rdma" ] || { say "$1: no RDMA device"; return 1; }
	folder=$sys/kernel/config/bnxt_re/$rdma
	if mkdir "$folder" 2>/dev/null || [ -d "$folder" ]; then
		"$2" "$folder/ports/1/cc" ecn_enable ecn_marking
		status=$?
		rmdir "$folder" 2>/dev/null
		return "$status"
	fi
	folder=$sys/kernel/debug/bnxt_re/$(pci_of "$1")/cc_config
	[ -d "$folder" ] || { say "$1: the driver shows no congestion control"; return 1; }
	"$2" "$folder" enable_cc tos_ecn
}
read_cc() { printf 'ecn %s %s\n' "$(number "$(cat "$1/$2")")" "$(number "$(cat "$1/$3")")"; }
write_cc() {
	printf %s "$ecn" >"$1/$2" && printf %s "$ecn" >"$1/$3" || return 1
	[ ! -e "$1/disable_prio_vlan_tx" ] || printf 1 >"$1/disable_prio_vlan_tx" || return 1
	[ "$ecn" = 0 ] || printf 1 >"$1/cc_mode" || return 1
	[ ! -e "$1/apply" ] || printf 1 >"$1/apply"
}

# apps prints the rules that give packets a priority, as niccli shows them: priority, selector, value.
apps() {
	awk -F: '
		/Priority:/ { p = $2 } /Sel:/ { s = $2 }
		/DSCP:|UDP or DCCP:|Ethertype:|TCP.*:/ && s != "" { gsub(/ /, "", p); gsub(/ /, "", s); gsub(/ /, "", $2); print p "," s "," $2; s = "" }'
}

have() {
	shown=$(card "$1" qos --ets --show | tr -d '\r')
	printf '%s\n' "$shown" | awk '
		/PRIO_MAP:/ { for (i = 2; i <= NF; i++) { split($i, a, ":"); print "priority " a[1] " class " a[2] } }
		/TC Bandwidth:/ { for (i = 3; i <= NF; i++) { sub("%", "", $i); print "class " (i - 3) " percent " $i } }
		/TSA_MAP:/ { for (i = 2; i <= NF; i++) { split($i, a, ":"); print "class " a[1] " " a[2] } }
		/PFC enabled:/ { sub(/.*PFC enabled: */, ""); gsub(/,/, " "); print "pfc " $0 }' | sed 's/ *$//'
	printf '%s\n' "$shown" | apps | awk '{ print "app " $0 } END { print "apps " NR }'
	ethtool -a "$1" | awk '/^RX:/ { print "pause rx " $2 } /^TX:/ { print "pause tx " $2 }'
	cc "$1" read_cc
	tos "$1" show
}

want() {
	for p in 0 1 2 3 4 5 6 7; do echo "priority $p class $(class_of "$p")"; done
	printf '%s\n' "class 0 ets" "class 0 percent $((100 - share))" "class 1 ets" "class 1 percent $share"
	printf '%s\n' "app $roce_priority,5,$roce_dscp" "pause rx off" "pause tx off" "ecn $ecn $ecn" "tos $((roce_dscp * 4))"
	[ "$ecn" = 0 ] || printf '%s\n' "class 2 strict" "app $cnp_priority,5,$cnp_dscp"
	if [ "$lossless" = 1 ]; then
		printf '%s\n' "pfc $roce_priority" "app $roce_priority,3,4791"
	else
		echo "pfc none"
	fi
	echo "apps $((1 + ecn + lossless))"
}

# class_of PRIORITY: class 0 is for all other packets, 1 for RoCE, 2 for CNPs, which there are with ECN only.
class_of() {
	case "$1$ecn" in
	"$roce_priority"?) echo 1 ;;
	"${cnp_priority}1") echo 2 ;;
	*) echo 0 ;;
	esac
}

# tos NIC show | set: the DSCP of connections that rdma_cm opens, in a folder that configfs makes on request.
tos() {
	rdma=$(rdma_of "$1")
	folder=$sys/kernel/config/rdma_cm/$rdma
	[ -n "$rdma" ] && { mkdir "$folder" 2>/dev/null || [ -d "$folder" ]; } || { say "$1: no $folder"; return 1; }
	file=$folder/ports/1/default_roce_tos
	if [ "$2" = show ]; then echo "tos $(number "$(cat "$file")")"; else printf %s "$((roce_dscp * 4))" >"$file"; fi
	status=$?
	rmdir "$folder" 2>/dev/null
	return "$status"
}

put() {
	failures=0
	if ! ethtool -a "$1" | awk '/^[RT]X:/ && $2 != "off" { on = 1 } END { exit on }'; then
		ethtool -A "$1" rx off tx off || failures=1
	fi
	for app in $(card "$1" qos --ets --show | tr -d '\r' | apps); do card "$1" qos --apptlv --del --app "$app" >&2 || failures=1; done
	map=
	for p in 0 1 2 3 4 5 6 7; do map=$map,$p:$(class_of "$p"); done
	# Firmware takes three classes, or all eight.
	ets=0:ets,1:ets,2:strict
	card "$1" qos --ets --tsa "$ets" --up2tc "${map#,}" --tcbw "$((100 - share)),$share" >&2 ||
		card "$1" qos --ets --tsa "$ets,3:strict,4:strict,5:strict,6:strict,7:strict" --up2tc "${map#,}" --tcbw "$((100 - share)),$share" >&2 || failures=1
	if [ "$lossless" = 1 ]; then
		card "$1" qos --pfc --enable "$roce_priority" >&2 || failures=1
		card "$1" qos --apptlv --add --app "$roce_priority,3,4791" >&2 || failures=1
	else
		card "$1" qos --pfc --enable 0xFF >&2 || failures=1
	fi
	card "$1" qos --apptlv --add --app "$roce_priority,5,$roce_dscp" >&2 || failures=1
	[ "$ecn" = 0 ] || card "$1" qos --apptlv --add --app "$cnp_priority,5,$cnp_dscp" >&2 || failures=1
	cc "$1" write_cc || failures=1
	tos "$1" set || failures=1
	return "$failures"
}

# Stored options, with the value that RoCE needs. Those with a scope are set for each PCI function.
scoped='support_rdma=1 dcbx_mode=0 lldp_nearest_bridge=0 lldp_nearest_non_tpmr_bridge=0'
unscoped='performance_profile=1 pcie_relaxed_ordering=1'
want_options() { for option in $scoped $unscoped; do echo "$option"; done; }
have_options() {
	for option in $scoped; do stored "$1" "${option%%=*}" --scope "$(function_of "$1")"; done
	for option in $unscoped; do stored "$1" "${option%%=*}"; done
}
function_of() { pci_of "$1" | sed 's/.*\.//'; }

# stored NIC OPTION SCOPE...: prints OPTION=1 or OPTION=0; niccli writes words, which differ between options and versions.
stored() {
	nic=$1 option=$2
	shift 2
	card "$nic" nvm --getoption "$option" "$@" | tr -d '\r' | tr '[:upper:]' '[:lower:]' | sed -n 's/.*[=:]//; s/^[[:space:]]*//; s/[[:space:]]*$//; /./p' | tail -n 1 |
		sed -E "s/^(1|enabled?|true|on|yes|roce)( *\\(.*\\))?\$/$option=1/; s/^(0|disabled?|false|off|no|default|none)( *\\(.*\\))?\$/$option=0/"
}

put_options() {
	failures=0
	missing_options=$(lacks have_options want_options "$1")
	for option in $missing_options; do
		case " $scoped " in
		*" $option "*) card "$1" nvm --setoption "${option%%=*}" --scope "$(function_of "$1")" --value "${option#*=}" >&2 || failures=1 ;;
		*) card "$1" nvm --setoption "${option%%=*}" --value "${option#*=}" >&2 || failures=1 ;;
		esac
	done
	return "$failures"
}
