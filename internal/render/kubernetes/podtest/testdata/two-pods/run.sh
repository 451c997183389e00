#!/bin/bash
# Two pods as Kubernetes' runtimes make them, as far as SSH and MPI see: a network namespace with eth0, a mount namespace with the
# mounted files, and root with the capabilities in $CAPABILITIES only (+ipc_lock,...). The first starts four ranks on both.
#   run.sh FOLDER    with opt/ (as the pods' /opt/railwright), keys-0 and keys-1 (as their /root/.ssh)
set -eu
export FOLDER=$1
# With a process namespace, whose end ends all that is in it.
exec unshare -n -m -u -p -f --mount-proc --kill-child bash -c '
set -eu
confined() { setpriv --no-new-privs --bounding-set="-all,$CAPABILITIES" --inh-caps=-all "$@"; }
export -f confined
pod() {
	i=$1
	until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
	ip link set lo up
	ip addr add "10.99.0.$((i + 1))/24" dev eth0
	ip link set eth0 up
	hostname "pod-$i"
	mount -t tmpfs tmpfs /opt
	mount -t tmpfs tmpfs /root
	mkdir /opt/railwright /root/.ssh
	mount --bind "$FOLDER/keys-$i" /root/.ssh
	mount --bind "$FOLDER/opt" /opt/railwright
	mount --bind "$FOLDER/hosts" /etc/hosts
	mount -t tmpfs tmpfs /run
	mount -t tmpfs tmpfs /sys/class
	mkdir -p "/sys/class/infiniband/mlx5_$i" /sys/class/infiniband_verbs/uverbs0
	echo "mlx5_$i" >/sys/class/infiniband_verbs/uverbs0/ibdev
	dev=$FOLDER/dev-$i
	mkdir -p "$dev"
	mount -t tmpfs tmpfs "$dev"
	mkdir "$dev/infiniband" "$dev/shm"
	: >"$dev/infiniband/uverbs0"
	for d in null zero full random urandom tty; do
		: >"$dev/$d"
		mount --bind "/dev/$d" "$dev/$d"
	done
	mount --rbind "$dev" /dev
	export GPU_VENDOR=nvidia NODE_NAME=n$i
	confined /opt/railwright/pod.sh sshd
}
export -f pod
printf "127.0.0.1 localhost\n10.99.0.1 pod-0.svc\n10.99.0.2 pod-1.svc\n" >"$FOLDER/hosts"
ip link add br0 type bridge
ip link set br0 up
for i in 0 1; do
	unshare -n -m -u bash -c "pod $i" >"$FOLDER/sshd-$i.log" 2>&1 &
	pods[i]=$!
done
sleep 0.3
for i in 0 1; do
	ip link add "v$i" type veth peer name eth0 netns "${pods[i]}"
	ip link set "v$i" master br0 up
done
for i in 0 1; do
	for _ in $(seq 100); do
		grep -q "Server listening" "$FOLDER/sshd-$i.log" && break
		sleep 0.1
	done
done
status=0
nsenter -t "${pods[0]}" -n -m -u env MPIRUN="$(command -v mpirun)" WITHIN=30 GPU_VENDOR=nvidia NODE_NAME=n0 \
	bash -c "setpriv --no-new-privs --bounding-set=-all,$CAPABILITIES --inh-caps=-all /opt/railwright/pod.sh mpirun 4 pod-0.svc:2,pod-1.svc:2 /bin/sh -c \
	'\''echo at \$(hostname) rank \$OMPI_COMM_WORLD_RANK \$NCCL_IB_HCA \$(grep CapEff /proc/self/status)'\''" || status=$?
exit "$status"
'
