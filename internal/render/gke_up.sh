kube() { kubectl --context="gke_${project}_${location}_${cluster}" "$@"; }

# same WHAT HAVE WANT: a thing that is there is the one that the plan means. Another one is never changed.
same() {
	if [ "$2" != "$3" ]; then
		stop "$1 exists and is another one: [$(printf %s "$2" | tr '\t' ' ')], the plan says [$(printf %s "$3" | tr '\t' ' ')]. Choose another gke.prefix or name, or remove it"
	fi
	say "have: $1"
}

network() { # NAME MTU PROFILE
	if find_network "$1"; then
		same "network $1" "$answer" "$owner	$2	$3"
		return
	fi
	say "make: network $1"
	if [ -n "$3" ]; then
		cloud compute networks create "$1" --description="$owner" --subnet-mode=custom --mtu="$2" --network-profile="$3"
	else
		cloud compute networks create "$1" --description="$owner" --subnet-mode=custom --mtu="$2"
	fi
}

subnet() { # NAME NETWORK RANGE
	if find_subnet "$1"; then
		same "subnet $1" "$answer" "$owner	$2	$3"
		return
	fi
	say "make: subnet $1, $3"
	cloud compute networks subnets create "$1" --description="$owner" --network="$2" --region="$region" --range="$3"
}

firewall() { # NAME NETWORK RANGE
	if find_firewall "$1"; then
		same "firewall rule $1" "$answer" "$owner	$2	$3"
		return
	fi
	say "make: firewall rule $1, from $3"
	cloud compute firewall-rules create "$1" --description="$owner" --network="$2" --direction=INGRESS --action=ALLOW --rules=tcp,udp,icmp --source-ranges="$3"
}

cluster() { # WORDS...: of its creation
	if settled "cluster $cluster" find_cluster; then
		[ "$status" = RUNNING ] || stop "cluster $cluster is $status: gcloud container clusters describe $cluster --project=$project --location=$location"
		same "cluster $cluster" "$(printf %s "$answer" | cut -f2)" "$cluster"
		case $(printf %s "$answer" | cut -f3) in
		"$version" | "$version".*) ;;
		*) stop "cluster $cluster runs Kubernetes $(printf %s "$answer" | cut -f3), the plan says $version: set kubernetes.version, and render again" ;;
		esac
		return
	fi
	say "make: cluster $cluster (some minutes)"
	cloud container clusters create "$cluster" --location="$location" --node-locations="$zone" --cluster-version="$version" --labels="railwright=$cluster" "$@"
}

pool() { # NAME MACHINE-TYPE NODES WORDS...: of its creation
	local name=$1 machine=$2 nodes=$3
	shift 3
	if settled "node pool $name" find_pool "$name"; then
		[ "$status" = RUNNING ] || stop "node pool $name is $status. Where it has no machines, remove it and run this again: gcloud container node-pools delete $name --cluster=$cluster --project=$project --location=$location"
		same "node pool $name" "$(printf %s "$answer" | cut -f2-3)" "$machine	$cluster"
		return
	fi
	say "make: node pool $name, $nodes x $machine (some minutes)"
	cloud container node-pools create "$name" --cluster="$cluster" --location="$location" --node-locations="$zone" --machine-type="$machine" --num-nodes="$nodes" "$@"
}

# connect: kubectl knows the cluster, and its API server serves the claims of this plan.
connect() {
	cloud container clusters get-credentials "$cluster" --location="$location"
	kube get --raw "/apis/resource.k8s.io/$dra" >/dev/null || stop "the API server of $cluster does not serve resource.k8s.io/$dra"
}

# machines NODES: as many as the plan says are in the cluster.
machines() {
	local have
	have=$(kube get nodes -l "railwright=$cluster" -o name)
	have=$(printf %s "$have" | grep -c . || true)
	if [ "$have" -ne "$1" ]; then
		stop "cluster $cluster has $have machines of this plan, the plan says $1: gcloud container clusters resize $cluster --node-pool=POOL --num-nodes=N --project=$project --location=$location"
	fi
	say "have: $have machines"
}

# install DAEMONSET URL [IMAGE DIGEST]...: a manifest at one version, with images at one digest, and waits until every machine has it.
install() {
	local name=$1 url=$2
	shift 2
	mkdir -p "$work/$name"
	printf 'resources:\n- %s\n' "$url" >"$work/$name/kustomization.yaml"
	if [ $# -gt 0 ]; then
		printf 'images:\n' >>"$work/$name/kustomization.yaml"
		while [ $# -gt 0 ]; do
			printf -- '- name: %s\n  digest: %s\n' "$1" "$2" >>"$work/$name/kustomization.yaml"
			shift 2
		done
	fi
	say "install: $name from $url"
	kube apply -k "$work/$name"
	kube -n kube-system rollout status "daemonset/$name" --timeout="$rollout" ||
		stop "$name is not ready on every machine: kubectl -n kube-system describe daemonset $name"
}

