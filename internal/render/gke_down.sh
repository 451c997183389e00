# ours WHAT OWNER: what is there was made for this plan. Anything else stays, and so does what it depends on.
ours() { [ "$2" = "$owner" ] || stop "$1 was not made by this plan (it says [$2]): it stays, and so does what is left of the rest"; }

sure=${1:-}
if [ "$#" -gt 1 ] || { [ -n "$sure" ] && [ "$sure" != --yes ]; }; then
	stop "usage: $0 [--yes]"
fi
left=0

# remove WHAT WORDS...: with --yes; without, only says so.
remove() {
	local what=$1
	shift
	left=$((left + 1))
	if [ "$sure" != --yes ]; then
		say "would remove: $what"
		return
	fi
	say "remove: $what"
	cloud "$@"
}

remove_cluster() { # POOL...: those of this plan
	local pool name
	settled "cluster $cluster" find_cluster || return 0
	ours "cluster $cluster" "railwright: $zone/$(printf %s "$answer" | cut -f2)"
	cloud container node-pools list --cluster="$cluster" --location="$location" --format='value(name)' >"$work/pools" ||
		stop "the node pools of $cluster are unknown: see above"
	while read -r name; do
		for pool in default-pool "$@"; do
			[ "$name" != "$pool" ] || continue 2
		done
		stop "cluster $cluster has node pool $name, which this plan does not name: remove it first if it may go"
	done <"$work/pools"
	remove "cluster $cluster with its node pools (some minutes)" container clusters delete "$cluster" --location="$location"
}

remove_firewall() {
	find_firewall "$1" || return 0
	ours "firewall rule $1" "${answer%%	*}"
	remove "firewall rule $1" compute firewall-rules delete "$1"
}

remove_subnet() {
	find_subnet "$1" || return 0
	ours "subnet $1" "${answer%%	*}"
	remove "subnet $1" compute networks subnets delete "$1" --region="$region"
}

remove_network() {
	find_network "$1" || return 0
	ours "network $1" "${answer%%	*}"
	remove "network $1" compute networks delete "$1"
}

