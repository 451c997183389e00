#!/usr/bin/env bash
# Written by railwright from the plan; a change here is lost when it is rendered again.
# Removes the cluster of this plan from Google Cloud with its networks, and nothing that was not made for it. Without --yes it
# only says what it would remove. It stops at the first thing that fails; run again, it goes on from there.
set -euo pipefail

placeholder=your-project-id
project=demo-project
region=us-west8
zone=us-west8-c
location=us-west8-c
cluster=demo
version=1.34
dra=v1
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

programs gcloud
reachable
remove_cluster gpu-0
remove_subnet demo-rdma-sub-1
remove_subnet demo-rdma-sub-0
remove_network demo-rdma-net
remove_firewall demo-gvnic-internal
remove_subnet demo-gvnic-sub
remove_network demo-gvnic-net

if [ "$left" -eq 0 ]; then
	say "nothing of this plan is left"
elif [ "$sure" != --yes ]; then
	say "nothing was removed. With --yes it is: $0 --yes"
fi
