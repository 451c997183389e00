
# Installs Fabric Manager of exactly the driver's version, shared by virtual machines, and activates the partitions of the plan.
# It stops at the first thing that is not as it has to be; run again, it goes on from there.
set -eu
say() { echo "railwright: $*"; }
stop() {
	say "$*" >&2
	exit 1
}
config=${FM_CONFIG:-/usr/share/nvidia/nvswitch/fabricmanager.cfg}
branch=${driver%%.*}
export DEBIAN_FRONTEND=noninteractive

loaded=$(modinfo -F version nvidia 2>/dev/null || true)
[ "$loaded" = "$driver" ] ||
	stop "the NVIDIA driver is ${loaded:-not installed} and has to be $driver, that of the GPUs in the other virtual machines: install it first"

apt-get update
package='' version=''
for name in "nvidia-fabricmanager-$branch" nvidia-fabricmanager; do
	for candidate in $(apt-cache madison "$name" 2>/dev/null | awk '{print $3}'); do
		case "$candidate" in
		"$driver" | "$driver"-*) package=$name version=$candidate ;;
		esac
		[ -z "$version" ] || break 2
	done
done
[ -n "$version" ] || stop "no package source has Fabric Manager $driver"

# Packages of other branches have the same files.
for name in $(dpkg-query -W -f '${db:Status-Abbrev}|${Package}\n' 'nvidia-fabricmanager*' 2>/dev/null | sed -n 's/^ii *|//p'); do
	case "$name" in
	"$package" | nvidia-fabricmanager-dev-"$branch") ;;
	*) apt-get purge -y "$name" ;;
	esac
done
systemctl unmask nvidia-fabricmanager.service
apt-get install -y --allow-downgrades --allow-change-held-packages "$package=$version"
apt-mark hold "$package"

# 1: virtual machines share the NVSwitches, and this one has them.
if grep -q '^FABRIC_MODE=' "$config"; then
	sed -i 's/^FABRIC_MODE=.*/FABRIC_MODE=1/' "$config"
else
	echo 'FABRIC_MODE=1' >>"$config"
fi
systemctl enable nvidia-fabricmanager.service
systemctl restart nvidia-fabricmanager.service
systemctl is-active --quiet nvidia-fabricmanager.service || stop "Fabric Manager does not run: journalctl -u nvidia-fabricmanager"

command -v fmpm >/dev/null ||
	stop "fmpm is not installed (github.com/NVIDIA/Fabric-Manager-Client, with package nvidia-fabricmanager-dev): partitions of $gpus GPUs are not activated, and GPUs will not reach each other"
ids=$(fmpm -l | python3 -c '
import json, sys
gpus, found = int(sys.argv[1]), []
def walk(x):
    if isinstance(x, dict):
        if x.get("numGpus") == gpus and "partitionId" in x:
            found.append((x["partitionId"], x.get("isActive")))
        for v in x.values():
            walk(v)
    elif isinstance(x, list):
        for v in x:
            walk(v)
walk(json.load(sys.stdin))
for number, active in sorted(found):
    print(number, 1 if active else 0)
' "$gpus")
[ "$(echo "$ids" | grep -c .)" -ge "$partitions" ] || stop "Fabric Manager offers fewer than $partitions partitions of $gpus GPUs: $(echo "$ids" | tr '\n' ';')"
echo "$ids" | head -n "$partitions" | while read -r id active; do
	[ "$active" -eq 1 ] || fmpm -a "$id" || exit 1
	say "partition $id of $gpus GPUs is active"
done
