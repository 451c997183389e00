say() { printf '%s\n' "$*"; }

stop() {
	printf 'stop: %s\n' "$*" >&2
	exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
objects=$here/../kubernetes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kube() { kubectl --context="$context" "$@"; }
helm_there() { helm --kube-context="$context" "$@"; }

# programs: helm and kubectl are there, and helm labels releases when it upgrades them (3.13 and later).
programs() {
	local p major minor
	for p in helm kubectl; do
		command -v "$p" >/dev/null 2>&1 || stop "$p is not installed (https://helm.sh/docs/intro/install; https://kubernetes.io/docs/tasks/tools)"
	done
	helm version --template '{{.Version}}' >"$work/helm" || stop "helm does not say its version: see above"
	IFS=. read -r major minor _ <"$work/helm" || true
	case "$major.$minor" in
	v3.[0-9] | v3.1[0-2]) stop "helm $major.$minor does not label the releases that it makes: 3.13 or later is needed" ;;
	v[3-9].*[0-9]) ;;
	*) stop "helm says [$(cat "$work/helm")] of itself, which is no version" ;;
	esac
}

# reachable: the API server answers, is of the version of the plan, and has every machine of the plan as a node.
reachable() {
	local have missing
	kube get --raw /version >"$work/version" || stop "context $context: the API server does not answer: see above"
	have=$(sed -n 's/.*"gitVersion": *"v\([0-9]*\.[0-9]*\)\..*/\1/p' "$work/version")
	[ "$have" = "$version" ] || stop "context $context runs Kubernetes [$have], the plan says $version: set kubernetes.version, and render again"
	if [ -n "$api" ]; then
		kube get --raw "/apis/resource.k8s.io/$api" >/dev/null || stop "context $context: the API server does not serve resource.k8s.io/$api, in which the claims of the plan are written"
	fi
	kube get nodes -o 'go-template={{range .items}}{{.metadata.name}}{{"\n"}}{{end}}' >"$work/have" || stop "the nodes of $context are unknown: see above"
	missing=$(awk 'FILENAME == ARGV[1] { have[$1]; next } !($1 in have)' "$work/have" "$work/nodes")
	[ -z "$missing" ] || stop "$(some "$missing") of the plan are no nodes of $context: set nodes.names as kubectl get nodes prints them"
}

# some LINES: how many they are, and the first of them.
some() { printf '%s machines (%s)' "$(printf '%s\n' "$1" | grep -c .)" "$(printf '%s\n' "$1" | head -n 4 | paste -s -d ' ' -)"; }

# found NAME NAMESPACE: $metadata is what helm says of a release. Status 1 where it says that there is none; where it says anything else,
# nothing is known, and nothing more is done.
metadata=
found() {
	if metadata=$(helm_there get metadata "$1" --namespace "$2" --output yaml 2>"$work/error"); then
		return 0
	fi
	if grep -q 'release: not found' "$work/error"; then
		return 1
	fi
	cat "$work/error" >&2
	stop "it is unknown whether there is a release $1 in namespace $2: helm did not say"
}

# field NAME: of $metadata.
field() { printf '%s\n' "$metadata" | sed -n "s/^$1: *//p" | tr -d "\"'"; }

# ours NAME NAMESPACE: the release was made for this plan. Anything else is never changed.
ours() {
	helm_there list --namespace "$2" --selector "railwright=$plan" --filter "^$1\$" --short >"$work/ours" || stop "the releases of namespace $2 are unknown: see above"
	[ "$(cat "$work/ours")" = "$1" ]
}
