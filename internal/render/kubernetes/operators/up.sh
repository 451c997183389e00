[ $# -eq 1 ] || stop "usage: $0 CONTEXT    (kubectl config get-contexts lists them)"
context=$1

# alone CHART NAME NAMESPACE: no other release of the chart is on the cluster.
alone() {
	local others
	helm_there list --all-namespaces --max 0 --output yaml >"$work/list" || stop "the releases of $context are unknown: see above"
	others=$(awk -v chart="$1" -v own="$3/$2" '
		{ sub(/^- /, "  ") }
		$1 == "chart:" { c = $2 }
		$1 == "name:" { n = $2 }
		$1 == "namespace:" { if (c ~ "^" chart "-v?[0-9]" && $2 "/" n != own) print $2 "/" n }' "$work/list" | paste -s -d ' ' -)
	[ -z "$others" ] || stop "$1 is installed already, as release $others: two of it would change the same machines. Where it is to stay, set kubernetes.operators: present"
}

# features RELEASE: no Node Feature Discovery but that of this release is on the cluster.
features() {
	local others
	kube get daemonsets --all-namespaces -l app.kubernetes.io/name=node-feature-discovery \
		-o 'go-template={{range .items}}{{.metadata.namespace}}/{{.metadata.name}} {{index .metadata.labels "app.kubernetes.io/instance"}}{{"\n"}}{{end}}' >"$work/features" ||
		stop "it is unknown whether Node Feature Discovery runs on $context: see above"
	others=$(awk -v own="$1" 'NF && $2 != own { print $1 }' "$work/features" | paste -s -d ' ' -)
	[ -z "$others" ] || stop "Node Feature Discovery runs already ($others): release $1 brings another, and two label the machines against each other. Remove it, or set kubernetes.operators: present"
}

# keeps NAME NAMESPACE FROM LOSES: an upgrade of an older release than this is not made.
keeps() {
	local have
	found "$1" "$2" || return 0
	have=$(field version)
	have=${have#v}
	if [ -z "$have" ] || [ "$(printf '%s\n%s\n' "$have" "$3" | sort -V | head -n 1)" != "$3" ]; then
		stop "release $1 is of version [$have]: an upgrade from before $3 $4. Save what is to stay, remove the release, and run this again"
	fi
}

# label NAME VALUE: every machine of the plan has it.
label() {
	local nodes
	mapfile -t nodes <"$work/nodes"
	say "label: $1=$2 on ${#nodes[@]} machines"
	kube label nodes "${nodes[@]}" --overwrite "$1=$2" >/dev/null || stop "not every machine has the label $1: see above"
}

# apply FILE: of objects, as railwright apply does it, so that neither takes a field from the other.
apply() {
	[ -f "$objects/$1" ] || stop "$objects/$1 is not there: this script stays in the folder of its render"
	say "apply: $1"
	kube apply --server-side --field-manager=railwright -f "$objects/$1" || stop "$1 was not applied: see above"
}

release() { # NAME CHART VERSION NAMESPACE [REPOSITORY]
	local name=$1 chart=$2 version=$3 namespace=$4 repository=${5:-}
	[ -f "$here/values-$name.yaml" ] || stop "$here/values-$name.yaml is not there: this script stays in the folder of its render"
	alone "${chart##*/}" "$name" "$namespace"
	if found "$name" "$namespace"; then
		case $(field status) in
		pending-*) stop "release $name is $(field status): helm was cut off. helm --kube-context=$context -n $namespace rollback $name, or uninstall where there is no earlier revision; then run this again" ;;
		esac
		ours "$name" "$namespace" || stop "release $name of namespace $namespace was not made for this plan: it stays as it is. Where it is to stay, set kubernetes.operators: present"
	fi
	say "install: $name, $chart $version (at most $rollout)"
	set -- upgrade --install "$name" "$chart" --version "$version" --namespace "$namespace" --values "$here/values-$name.yaml" --labels "railwright=$plan" --wait --timeout "$rollout"
	if [ -n "$repository" ]; then
		set -- "$@" --repo "$repository"
	fi
	helm_there "$@" >/dev/null || stop "release $name is not running: kubectl --context=$context -n $namespace get pods"
}

state() { # OBJECT MINUTES WHAT
	say "wait: $3 (at most $2 minutes)"
	kube wait "$1" --for='jsonpath={.status.state}=ready' --timeout="$2m" >/dev/null || stop "not so after $2 minutes: $3. kubectl --context=$context describe $1"
}

# every MINUTES WHAT COMMAND WORDS...: waits until the command prints every machine of the plan.
every() {
	local minutes=$1 what=$2 end missing
	shift 2
	end=$((SECONDS + minutes * 60))
	say "wait: $what (at most $minutes minutes)"
	while :; do
		"$@" >"$work/there" || stop "it is unknown whether $what: see above"
		missing=$(awk 'FILENAME == ARGV[1] { have[$1]; next } !($1 in have)' "$work/there" "$work/nodes")
		[ -n "$missing" ] || return 0
		[ "$SECONDS" -lt "$end" ] || stop "not so after $minutes minutes: $what. Missing: $(some "$missing")"
		sleep "$pause"
	done
}

# with_resource NAME LEAST: the machines that have so many of an extended resource.
with_resource() {
	kube get nodes -o "go-template={{range .items}}{{.metadata.name}} {{with .status.allocatable}}{{index . \"$1\"}}{{end}}{{\"\\n\"}}{{end}}" >"$work/resource" || return 1
	awk -v least="$2" '$2 + 0 >= least + 0 { print $1 }' "$work/resource"
}

# with_slices DRIVER: the machines whose devices a driver publishes.
with_slices() {
	kube get resourceslices.resource.k8s.io -o 'go-template={{range .items}}{{.spec.driver}} {{.spec.nodeName}}{{"\n"}}{{end}}' >"$work/slices" || return 1
	awk -v driver="$1" '$1 == driver { print $2 }' "$work/slices"
}

