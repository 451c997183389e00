#!/usr/bin/env bash
# Written by railwright from the plan; a change here is lost when it is rendered again.
# Makes the cluster of this plan in Google Cloud, and installs what its machines need. It stops at the first thing that
# fails. Run it again as often as you like: what is there is left as it is. What it makes costs money from the moment that it
# exists; gke-down.sh removes it.
set -euo pipefail

placeholder=your-project-id
project=demo-project
region=us-west8
zone=us-west8-c
location=us-west8-c
cluster=demo
version=1.34
dra=v1beta1
owner='railwright: us-west8-c/demo'
pause=${PAUSE:-15} # seconds between two looks at what is being changed
patience=160       # looks, 40 minutes
rollout=30m        # for an installation on every machine
# shellcheck disable=SC2034 # not every script reads all of them
: "$placeholder" "$region" "$version" "$dra" "$owner" "$patience" "$rollout"

say() { printf '%s\n' "$*"; }

stop() {
	printf 'stop: %s\n' "$*" >&2
	exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cloud WORDS...: gcloud in this project, without questions.
cloud() { gcloud "$@" --project="$project" --quiet; }

# found NAME FORMAT WORDS...: $answer is what gcloud says of a thing. Status 1 where it says that there is no such thing; where it
# says anything else, nothing is known, and nothing more is done.
answer=
found() {
	local name=$1 format=$2
	shift 2
	if answer=$(cloud "$@" --format="$format" 2>"$work/error"); then
		return 0
	fi
	if grep -qE "/$name' was not found|code=404[^0-9]" "$work/error"; then
		return 1
	fi
	cat "$work/error" >&2
	stop "it is unknown whether $name exists: gcloud did not say"
}

# programs NAME...: each is there.
programs() {
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null 2>&1 || stop "$p is not installed (https://cloud.google.com/sdk/docs/install; gcloud components install kubectl gke-gcloud-auth-plugin)"
	done
}

# reachable: the project is, so that "not found" is said of a thing in it.
reachable() {
	if [ "$project" = "$placeholder" ]; then
		stop "the project is still $placeholder: set gke.project in the cluster file, and render again"
	fi
	cloud compute project-info describe --format='value(name)' >/dev/null || stop "project $project is not reachable: see above"
}

find_network() { found "$1" 'value(description,mtu,networkProfile.basename())' compute networks describe "$1"; }
find_subnet() { found "$1" 'value(description,network.basename(),ipCidrRange)' compute networks subnets describe "$1" --region="$region"; }
find_firewall() { found "$1" 'value(description,network.basename(),sourceRanges[0])' compute firewall-rules describe "$1"; }
find_cluster() { found "$cluster" 'value(status,resourceLabels.railwright,currentMasterVersion)' container clusters describe "$cluster" --location="$location"; }
find_pool() { found "$1" 'value(status,config.machineType,config.labels.railwright)' container node-pools describe "$1" --cluster="$cluster" --location="$location"; }

# settled WHAT FINDER WORDS...: waits until a thing is no longer being changed, as after a run that was cut off. $status is its state.
status=
settled() {
	local what=$1 tries=0
	shift
	while "$@"; do
		status=${answer%%	*}
		case $status in
		PROVISIONING | RECONCILING | STOPPING) ;;
		*) return 0 ;;
		esac
		tries=$((tries + 1))
		if [ "$tries" -gt "$patience" ]; then
			stop "$what is still $status after $((patience * pause / 60)) minutes: gcloud container operations list --project=$project --location=$location"
		fi
		say "wait: $what is $status"
		sleep "$pause"
	done
	return 1
}

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

programs gcloud kubectl gke-gcloud-auth-plugin
reachable
cloud compute network-profiles describe us-west8-c-vpc-roce '--format=value(name)' >/dev/null || stop "zone $zone has no RDMA network: see above"
cloud compute networks describe default '--format=value(name)' >/dev/null || stop "the network of the cluster itself has to exist (gke.network): see above"

# The network of a further ordinary interface of each machine; its firewall admits its own subnet and nothing else.
network demo-gvnic-net 1460 ''
subnet demo-gvnic-sub demo-gvnic-net 192.168.0.0/24
firewall demo-gvnic-internal demo-gvnic-net 192.168.0.0/24

# The network of the RDMA interfaces, a subnet each. Its profile admits RDMA, has a firewall of its own, and ties it to the zone.
network demo-rdma-net 8896 us-west8-c-vpc-roce
subnet demo-rdma-sub-0 demo-rdma-net 192.168.1.0/24
subnet demo-rdma-sub-1 demo-rdma-net 192.168.2.0/24

cluster \
	'--release-channel=None' \
	--no-enable-autorepair \
	--no-enable-autoupgrade \
	--enable-ip-alias \
	--enable-dataplane-v2 \
	--enable-multi-networking \
	'--network=default' \
	'--enable-kubernetes-unstable-apis=resource.k8s.io/v1beta1/deviceclasses,resource.k8s.io/v1beta1/resourceclaims,resource.k8s.io/v1beta1/resourceclaimtemplates,resource.k8s.io/v1beta1/resourceslices'
pool gpu-0 a4-highgpu-8g 2 \
	'--accelerator=type=nvidia-b200,count=8,gpu-driver-version=disabled' \
	'--node-labels=railwright=demo,gke-no-default-nvidia-gpu-device-plugin=true,nvidia.com/gpu.present=true' \
	--no-enable-autorepair \
	--no-enable-autoupgrade \
	--spot \
	'--additional-node-network=network=demo-gvnic-net,subnetwork=demo-gvnic-sub' \
	'--additional-node-network=network=demo-rdma-net,subnetwork=demo-rdma-sub-0' \
	'--additional-node-network=network=demo-rdma-net,subnetwork=demo-rdma-sub-1'

# What the machines need, at one version each.
connect
machines 2
# libraries (a test)
install nccl-rdma-installer https://example.test/libraries.yaml
# DraNet (a test)
install dranet https://example.test/dranet.yaml example.test/dranet sha256:0123
kube -n kube-system rollout status daemonset/dranet --timeout="$rollout" ||
	stop "install a DraNet that speaks resource.k8s.io/$dra: the release that is pinned here speaks v1 only"

say "done. The names of the machines, for nodes.names of the cluster file:"
kube get nodes -l "railwright=$cluster" -o 'jsonpath={range .items[*]}{.metadata.name}{","}{end}'
say ''
say "next: railwright apply -f FILE --context gke_${project}_${location}_${cluster}; then run-nccl-tests.sh"
