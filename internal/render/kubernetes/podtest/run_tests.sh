#   run-tests.sh [perftest|collectives|mpijob]...   by default perftest and collectives; mpijob needs the MPI operator
#   RESULTS=FOLDER     where to save what they print, by default test-results
#   CLUSTER=FILE       the cluster file, by which railwright explain judges that; without it, by the machine of the plan
#   CONTEXT=NAME       of the kubeconfig, by default its current one
#   WORKERS=N          perftest: machines that take part, in pairs, by default 2; the others: pods of each set, by default all, or as
#                      many as fit one command
#   WAIT=10m           how long pods may take to start; KEEP=yes leaves them there
#   DMABUF=yes|no      perftest: by which way GPU memory is registered, by default what the machine has
# Exit status: the worst that explain says (0 pass, 1 failed, 2 unknown); 2 if a test could not be run, 64 wrong usage.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
results=${RESULTS:-test-results}
wait=${WAIT:-10m}
port=18515 # perftest's own (src/perftest_parameters.h, DEF_PORT)
status=0
applied=()
keys=

say() { printf '%s\n' "$*"; }

# unknown notes that something could not be measured, and why.
unknown() {
	printf 'unknown: %s\n' "$*" >&2
	[ "$status" = 1 ] || status=2
}

usage() {
	printf 'run-tests.sh: %s\n' "$*" >&2
	exit 64
}

kube() { kubectl ${CONTEXT:+--context="$CONTEXT"} --namespace="$namespace" "$@"; }

in_pod() {
	local pod=$1
	shift
	kube exec "$pod" -c test -- env ${DMABUF:+"DMABUF=$DMABUF"} "$program" "$@"
}

# clean removes what this run made, and nothing else.
# shellcheck disable=SC2329 # the trap calls it
clean() {
	local file
	if [ "${KEEP:-no}" = yes ]; then
		[ ${#applied[@]} -eq 0 ] || say "left there: kubectl --namespace=$namespace delete${applied[*]/#/ -f $here/}${keys:+; kubectl --namespace=$namespace delete secret $keys}"
		return 0
	fi
	for ((i = ${#applied[@]} - 1; i >= 0; i--)); do
		file=${applied[i]}
		kube delete --ignore-not-found --wait=true --timeout=2m -f "$here/$file" >/dev/null || printf 'left there: %s of namespace %s\n' "$file" "$namespace" >&2
	done
	applied=()
	[ -z "$keys" ] || kube delete secret --ignore-not-found "$keys" >/dev/null || printf 'left there: secret %s of namespace %s\n' "$keys" "$namespace" >&2
	keys=
}

apply() {
	applied+=("$1")
	kube apply -f "$here/$1" >/dev/null
}

# why prints what Kubernetes says of pods that do not start: no machine with the resources, a claim without devices, a pod that
# admission refuses.
why() {
	kube get pods -l "$1" -o wide >&2 || true
	kube get resourceclaims >&2 2>/dev/null || true
	kube get events --field-selector type=Warning --sort-by=.lastTimestamp 2>/dev/null | tail -n 20 >&2 || true
}

# start waits for the pods of an app, in all of its sets.
start() {
	local app=$1 set
	for set in $(sets_of "$app"); do
		say "wait: $each pods of $set, $wait at most"
		if ! kube rollout status "statefulset/$set" --timeout="$wait"; then
			why "set=$set"
			unknown "the pods of $set are not ready after $wait: see above; railwright claims says which claim cannot be satisfied, and why"
			return 1
		fi
	done
}

sets_of() {
	local i
	if [ "$sets" -eq 1 ]; then
		say "$1"
		return
	fi
	for ((i = 0; i < sets; i++)); do say "$1-$i"; done
}

# devices saves which devices a pod has, and refuses one that has not as many as the plan.
devices() {
	local pod=$1 found
	if ! in_pod "$pod" devices >"$results/devices-$pod.part"; then
		unknown "pod $pod: its devices could not be read"
		return 1
	fi
	mv "$results/devices-$pod.part" "$results/devices-$pod.list"
	found=$(grep -c . "$results/devices-$pod.list") || true
	if [ "$found" -ne "$nics" ]; then
		unknown "pod $pod: it has $found RDMA devices, and the plan gives each pod $nics: $results/devices-$pod.list"
		return 1
	fi
}

# one runs perftest from one pod to another, over the NIC of one number of both.
one() {
	local memory=$1 number=$2 server=$3 client=$4 to=$5 file
	file=$results/perftest-$memory-$client-$server-nic$number
	say "run: ib_write_bw, $memory memory, NIC $number of $client to $server"
	in_pod "$server" perftest "$memory" "$number" "$port" >"$file.server" 2>&1 &
	local waits=$!
	if ! in_pod "$server" listening "$port"; then
		in_pod "$server" stop "$port" || true
		wait "$waits" || true
		cat "$file.server" >&2
		mv "$file.server" "$file.failed.txt"
		unknown "perftest, $memory memory, NIC $number: the server in pod $server did not start"
		return 0
	fi
	if in_pod "$client" perftest "$memory" "$number" "$port" "$to" >"$file.part" 2>&1; then
		mv "$file.part" "$file.txt"
		wait "$waits" || true # what was measured is in the client's output
		rm -f "$file.server"
	else
		in_pod "$server" stop "$port" || true
		wait "$waits" || true
		cat "$file.server" >>"$file.part"
		rm -f "$file.server"
		mv "$file.part" "$file.failed.txt"
		unknown "perftest, $memory memory, NIC $number of $client to $server: it failed: $file.failed.txt"
	fi
	port=$((port + 1)) # the next one does not meet what is left of this
}

# machines prints a pod of each machine with its address: "POD ADDRESS".
machines() {
	kube get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.spec.nodeName}{" "}{.metadata.name}{" "}{.status.podIP}{"\n"}{end}' |
		sort -V | awk 'NF == 3 && !seen[$1]++ { print $2, $3 }'
}

perftest() {
	local want=${WORKERS:-2} list count i pod to memory number
	start railwright-perftest || return 0
	list=$(machines railwright-perftest) || list=
	count=$(printf '%s' "$list" | grep -c .) || true
	if [ "$count" -lt 2 ]; then
		unknown "perftest: it needs pods on two machines, and there are pods on $count"
		return 0
	fi
	[ "$want" -le "$count" ] || want=$count
	list=$(printf '%s\n' "$list" | head -n "$want")
	while read -r pod _; do
		devices "$pod" || return 0
	done <<<"$list"
	local pods=() addresses=()
	while read -r pod to; do
		pods+=("$pod")
		addresses+=("$to")
	done <<<"$list"
	for ((i = 0; i < want; i += 2)); do
		local other=$(((i + 1) % want)) # an odd one out meets the first
		for memory in host gpu; do
			for ((number = 0; number < nics; number++)); do
				one "$memory" "$number" "${pods[i]}" "${pods[other]}" "${addresses[i]}"
			done
		done
	done
}

# table runs a test and saves what it prints. Its first line is the command, which the table does not name.
table() {
	local test=$1
	shift
	say "run: $test"
	if "$@" 2>&1 | tee "$results/$test.part"; then
		mv "$results/$test.part" "$results/$test.txt"
	else
		mv "$results/$test.part" "$results/$test.failed.txt"
		unknown "$test: it failed: $results/$test.failed.txt"
	fi
}

collectives() {
	local take=${WORKERS:-$each} set i first='' hosts='' test
	if [ -z "${WORKERS:-}" ] && [ "$take" -gt "$most" ]; then
		take=$most
		say "only the first $take pods of each set: WORKERS=$each takes all"
	fi
	[ "$take" -le "$each" ] || usage "WORKERS=$take: each set has $each pods"
	command -v ssh-keygen >/dev/null 2>&1 || {
		unknown "collectives: ssh-keygen is not installed, which makes the keys of this run"
		return 0
	}
	make_keys || {
		unknown "collectives: the keys of this run could not be stored as a Secret"
		return 0
	}
	apply test-collectives.yaml || {
		unknown "collectives: the API server refuses test-collectives.yaml"
		return 0
	}
	start railwright-collectives || return 0
	for set in $(sets_of railwright-collectives); do
		for ((i = 0; i < take; i++)); do
			first=${first:-$set-$i}
			hosts=${hosts:+$hosts,}$set-$i.railwright-collectives:$gpus
			devices "$set-$i" || return 0
		done
	done
	for test in $tests; do
		table "$test" in_pod "$first" mpirun "$((take * sets * gpus))" "$hosts" "/opt/tests/${test}_perf" -b 1K -e 8G -f 2 -g 1
	done
}

# make_keys makes the keys of this run and stores them where the pods find them; no file of them stays here.
make_keys() {
	local folder
	folder=$(mktemp -d)
	keys=railwright-test-keys
	kube delete secret --ignore-not-found "$keys" >/dev/null &&
		ssh-keygen -q -t ed25519 -N '' -C railwright-test -f "$folder/key" &&
		kube create secret generic "$keys" --type=kubernetes.io/ssh-auth --from-file=ssh-privatekey="$folder/key" --from-file=ssh-publickey="$folder/key.pub" >/dev/null
	local made=$?
	rm -rf "$folder"
	return "$made"
}

mpijob() {
	local state test=''
	say "wait: the MPIJob, which starts $each workers"
	local left=${SECONDS_LEFT:-3600}
	while :; do
		state=$(kube get mpijob railwright-mpijob -o 'jsonpath={range .status.conditions[?(@.status=="True")]}{.type}{" "}{end}') || state=
		case " $state " in
		*' Succeeded '* | *' Failed '*) break ;;
		esac
		if [ "$left" -le 0 ]; then
			why training.kubeflow.org/job-name=railwright-mpijob
			unknown "mpijob: it has not ended; its conditions: ${state:-none}, which is also so where no MPI operator runs"
			return 0
		fi
		sleep "${PAUSE:-5}"
		left=$((left - 5))
	done
	if ! kube logs -l training.kubeflow.org/job-name=railwright-mpijob,training.kubeflow.org/job-role=launcher --tail=-1 >"$results/mpijob.part"; then
		unknown "mpijob: the log of its launcher could not be read"
		return 0
	fi
	# A file for each test, since each is judged on its own.
	awk -v folder="$results" '/^# test [a-z_]+$/ { file = folder "/mpijob-" $3 ".txt"; next } file { print >file }' "$results/mpijob.part"
	mv "$results/mpijob.part" "$results/mpijob.log"
	for test in $tests; do
		[ -s "$results/mpijob-$test.txt" ] || unknown "mpijob: its log has no $test: $results/mpijob.log"
	done
	case " $state " in
	*' Failed '*) unknown "mpijob: it failed: $results/mpijob.log" ;;
	esac
}

# judge gives what a suite printed to railwright explain, and keeps the worst that it says.
judge() {
	local how=() files=() f said=0
	for f in "$results"/*.txt; do
		[ -e "$f" ] || continue
		if [ -s "$f" ]; then
			files+=("$f")
		else
			unknown "$f: nothing was printed"
		fi
	done
	if [ ${#files[@]} -eq 0 ]; then
		unknown "nothing was measured"
		return 0
	fi
	if [ -n "${CLUSTER:-}" ]; then
		how=(-f "$CLUSTER")
	elif [ -n "$machine" ]; then
		how=(--machine "$machine" --nodes "$nodes")
	fi
	say "next: railwright explain ${files[*]} ${how[*]}"
	if ! command -v railwright >/dev/null 2>&1; then
		unknown "railwright is not in PATH, and nothing was judged"
		return 0
	fi
	railwright explain "${files[@]}" "${how[@]}" || said=$?
	case $said in
	0) ;;
	1) status=1 ;;
	2) [ "$status" = 1 ] || status=2 ;;
	*) status=$said ;;
	esac
}

suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(perftest collectives)
for suite in "${suites[@]}"; do
	case $suite in
	perftest | collectives) ;;
	mpijob) [ "$sets" -eq 1 ] || usage "mpijob: its workers are all alike, and this plan has $sets kinds of pods; use collectives" ;;
	*) usage "$suite: unknown; known: perftest, collectives, mpijob" ;;
	esac
done
case ${WORKERS:-1} in
*[!0-9]* | 0*) usage "WORKERS=$WORKERS: not a number from 1 on" ;;
esac
[ -z "${CLUSTER:-}" ] || [ -r "$CLUSTER" ] || usage "CLUSTER=$CLUSTER: cannot be read"
if ! command -v kubectl >/dev/null 2>&1; then
	unknown "kubectl is not installed"
	exit "$status"
fi
if [ -d "$results" ] && [ -n "$(ls -A "$results")" ]; then
	usage "RESULTS=$results: has files already, of which some would be judged with those of this run; give another folder"
fi
mkdir -p "$results"
trap clean EXIT
trap 'exit 130' INT TERM

if ! apply test-scripts.yaml; then
	unknown "the API server refuses test-scripts.yaml, or does not answer"
	exit "$status"
fi
for suite in "${suites[@]}"; do
	if [ "$suite" != collectives ] && ! apply "test-$suite.yaml"; then
		unknown "$suite: the API server refuses test-$suite.yaml"
		continue
	fi
	case $suite in
	perftest) perftest ;;
	collectives) collectives ;;
	mpijob) mpijob ;;
	esac
	# The next suite needs the same devices.
	if [ "${KEEP:-no}" != yes ] && [ ${#applied[@]} -gt 1 ]; then
		kube delete --ignore-not-found --wait=true --timeout=2m -f "$here/test-$suite.yaml" >/dev/null || true
	fi
done
judge
exit "$status"
