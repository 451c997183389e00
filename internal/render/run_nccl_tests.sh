results=${RESULTS:-nccl-results}
workers=${WORKERS:-$each}
wait=${WAIT:-20m}

stop() {
	printf 'stop: %s\n' "$*" >&2
	exit 1
}

kube() { kubectl --context="$context" --namespace="$namespace" "$@"; }

case $workers in
'' | *[!0-9]* | 0) stop "WORKERS=$workers: not a number of pods" ;;
esac
[ "$workers" -le "$each" ] || stop "WORKERS=$workers: each set has $each pods"
if [ -z "${WORKERS:-}" ] && [ "$workers" -gt "$most" ]; then
	workers=$most
	printf 'only the first %s pods of each set: WORKERS=%s takes all\n' "$workers" "$each"
fi
command -v kubectl >/dev/null 2>&1 || stop "kubectl is not installed"

first=
hosts=
for set in $sets; do
	printf 'wait: %s pods of %s, %s at most\n' "$each" "$set" "$wait"
	if ! kube rollout status "statefulset/$set" --timeout="$wait"; then
		# What it waited for: pods without a machine, claims without devices.
		kube get pods -l "set=$set" -o wide >&2 || true
		kube get resourceclaims >&2 || true
		kube get events --field-selector reason=FailedScheduling >&2 || true
		stop "the pods of $set are not ready after $wait: see above; railwright claims says which claim cannot be satisfied, and why"
	fi
	i=0
	while [ "$i" -lt "$workers" ]; do
		first=${first:-$set-$i}
		hosts="$hosts $set-$i.$service"
		i=$((i + 1))
	done
done

mkdir -p "$results"
failed=
for test in all_gather all_reduce; do
	file=$results/$test.txt
	printf 'run: %s over%s\n' "$test" "$hosts"
	# shellcheck disable=SC2086 # a word per host
	set -- kubectl --context="$context" --namespace="$namespace" exec "$first" -c test -- \
		/usr/local/gib/scripts/run_nccl_tests.sh -t "$test" -b 1K -e 8G -g "$gpus" $hosts
	# The table does not name its test: the command above it does.
	printf '$ %s\n' "$*" >"$file.part"
	if "$@" 2>&1 | tee -a "$file.part"; then
		mv "$file.part" "$file"
	else
		mv "$file.part" "$results/$test.failed.txt"
		failed="$failed $test"
	fi
done
printf 'next: railwright explain %s -f FILE   # the cluster file\n' "$results"
[ -z "$failed" ] || stop "failed:$failed. What it printed is in $results, and railwright explain reads that too"
