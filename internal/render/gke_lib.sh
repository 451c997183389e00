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
