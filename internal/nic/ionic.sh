sys=/sys
tools=nicctl
units=host
hint='see what nicctl show qos and nicctl show dcqcn say'

# rdma_of NIC prints its RDMA device.
rdma_of() { basename "$(find -L "$sys/class/net/$1/device/infiniband" -mindepth 1 -maxdepth 1 2>/dev/null | head -n 1)"; }

# have prints a setting that every port has; settings that differ between ports are not printed. nicctl names ports by
# UUID, which the plan does not have, so that all ports of the host are set and read.
have() {
	nicctl show qos | tr -d '\r' | awk '
		function fact(s) { if (!(s in last) || last[s] != ports) { last[s] = ports; count[s]++ } }
		function numbers(s, f,    n, i, a, b, j) { n = split(s, a, ","); for (i = 1; i <= n; i++) { split(a[i], b, "-"); if (b[2] == "") b[2] = b[1]; for (j = b[1]; j <= b[2]; j++) fact(f " " j) } }
		/^Port +:/ { ports++ }
		/Classification type +:/ { fact("classified by " tolower($NF)) }
		/DSCP +: .*==> priority +:/ { s = $0; sub(/.*DSCP +: /, "", s); sub(/ ==>.*/, "", s); gsub(/ /, "", s); numbers(s, "priority " $NF " dscp") }
		/PFC no-drop priorities +:/ { s = $0; sub(/.*: */, "", s); gsub(/ /, "", s); fact("pfc " (s == "" ? "none" : s)) }
		$1 ~ /^[0-7]$/ && tolower($2) ~ /^(dwrr|strict)$/ { fact("priority " $1 " " tolower($2) (tolower($2) == "dwrr" ? " " $3 : "")) }
		END { for (s in count) if (count[s] == ports) print s; print "ports " ports + 0 }' |
		awk -v want="$(set -- $nics; echo $#)" '$1 == "ports" { $2 = $2 >= want ? "enough" : $2 " of " want } { print }'
	nicctl show dcqcn | tr -d '\r' | awk -F ' *: *' '
		/ROCE device/ { device = $2 } /DCQCN profile id/ { profile = $2 + 0 }
		/Status/ && profile == 1 { print device " ecn " (tolower($2) ~ /^enabled/ ? 1 : 0) }
		/DSCP value used for CNP/ && profile == 1 { print device " cnp dscp " $2 + 0 }' | sed 's/ *$//'
}

want() {
	printf '%s\n' "ports enough" "classified by dscp" "priority $roce_priority dscp $roce_dscp" "priority $cnp_priority dscp $cnp_dscp"
	dscp=0
	while [ "$dscp" -lt 64 ]; do
		[ "$dscp" = "$roce_dscp" ] || [ "$dscp" = "$cnp_dscp" ] || echo "priority 0 dscp $dscp"
		dscp=$((dscp + 1))
	done
	printf '%s\n' "priority 0 dwrr $((100 - share))" "priority $roce_priority dwrr $share" "priority $cnp_priority strict"
	if [ "$lossless" = 1 ]; then echo "pfc $roce_priority"; else echo "pfc none"; fi
	for nic in $nics; do
		rdma=$(rdma_of "$nic")
		if [ -z "$rdma" ]; then echo "$nic with an RDMA device"; fi
		[ "$ecn" = 0 ] || printf '%s\n' "$rdma ecn 1" "$rdma cnp dscp $cnp_dscp"
	done
}

put() {
	failures=0
	if [ "$lossless" = 1 ]; then
		nicctl update port --all --pause-type pfc --rx-pause enable --tx-pause enable >&2 || failures=1
	fi
	nicctl update qos --classification-type dscp >&2 || failures=1
	nicctl update qos dscp-to-priority --dscp 0-63 --priority 0 >&2 || failures=1
	nicctl update qos dscp-to-priority --dscp "$roce_dscp" --priority "$roce_priority" >&2 || failures=1
	nicctl update qos dscp-to-priority --dscp "$cnp_dscp" --priority "$cnp_priority" >&2 || failures=1
	for p in 0 1 2 3 4 5 6 7; do
		if [ "$lossless$p" = "1$roce_priority" ]; then
			nicctl update qos pfc --priority "$p" --no-drop enable >&2 || failures=1
		elif have | grep -q "^pfc .*$p"; then
			nicctl update qos pfc --priority "$p" --no-drop disable >&2 || failures=1
		fi
	done
	# Weight 0 is strict, which nicctl takes with a limit of the rate only: 10 Gb/s, as in AMD's own example.
	nicctl update qos scheduling --priority "0,$roce_priority,$cnp_priority" --dwrr "$((100 - share)),$share,0" --rate-limit 0,0,10 >&2 || failures=1
	[ "$ecn" = 0 ] || for nic in $nics; do nicctl update dcqcn -r "$(rdma_of "$nic")" -i 1 --cnp-dscp "$cnp_dscp" >&2 || failures=1; done
	return "$failures"
}

# No stored option of these NICs is in a public document, so that nothing is known of them.
want_options() { echo "stored options: none is documented in public"; }
have_options() { :; }
put_options() { :; }
