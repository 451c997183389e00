sure=${2:-}
if [ $# -lt 1 ] || [ $# -gt 2 ] || { [ -n "$sure" ] && [ "$sure" != --yes ]; }; then
	stop "usage: $0 CONTEXT [--yes]    (kubectl config get-contexts lists them)"
fi
context=$1
left=0

# remove WHAT COMMAND WORDS...: with --yes; without, only says so.
remove() {
	local what=$1
	shift
	left=$((left + 1))
	if [ "$sure" != --yes ]; then
		say "would remove: $what"
		return
	fi
	say "remove: $what"
	"$@" >/dev/null || stop "$what was not removed: see above"
}

# remove_objects FILE: those of it that are there. Where the kind of one is unknown to the API server, none of it is.
remove_objects() {
	local name
	[ -f "$objects/$1" ] || stop "$objects/$1 is not there: this script stays in the folder of its render"
	if ! kube get -f "$objects/$1" --ignore-not-found -o name >"$work/objects" 2>"$work/error"; then
		if grep -q 'no matches for kind' "$work/error"; then
			return
		fi
		cat "$work/error" >&2
		stop "it is unknown what of $1 is there: see above"
	fi
	[ ! -s "$work/objects" ] || remove "$1: $(paste -s -d ' ' "$work/objects")" kube delete -f "$objects/$1" --ignore-not-found --timeout="$rollout"
}

# remove_release NAME NAMESPACE [FILE]...: after the objects that it looks after.
remove_release() {
	local name=$1 namespace=$2 file
	shift 2
	found "$name" "$namespace" || return 0
	ours "$name" "$namespace" || stop "release $name of namespace $namespace was not made for this plan: it stays, and so does what is left of the rest"
	for file in "$@"; do
		remove_objects "$file"
	done
	remove "release $name of namespace $namespace" helm_there uninstall "$name" --namespace "$namespace" --wait --timeout "$rollout"
}

# unlabel NAME: of every machine of the plan that has it.
unlabel() {
	local nodes
	kube get nodes -l "$1" -o 'go-template={{range .items}}{{.metadata.name}}{{"\n"}}{{end}}' >"$work/labelled" || stop "the nodes of $context are unknown: see above"
	mapfile -t nodes < <(awk 'FILENAME == ARGV[1] { have[$1]; next } $1 in have' "$work/labelled" "$work/nodes")
	[ "${#nodes[@]}" -eq 0 ] || remove "label $1 of ${#nodes[@]} machines" kube label nodes "${nodes[@]}" "$1-"
}

