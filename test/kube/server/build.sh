#!/bin/sh
# Builds the control plane of the tests once, outside the checkout, and prints the folder of its programs.
# -n: only prints the folder. The folder's name says what it was built from, so that a change makes a new one.
set -eu
cd "$(dirname "$0")"

sum=$(cat go.mod go.sum main.go lws.go build.sh | cksum | tr ' ' -)
version=$(awk '$1 == "k8s.io/kubernetes" || $2 == "k8s.io/kubernetes" {print $NF}' go.mod)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/railwright
folder=$cache/kube-$version-$sum
echo "$folder"
[ "${1:-}" != -n ] || exit 0
[ ! -x "$folder/kubectl" ] || exit 0

mkdir -p "$cache"
new=$(mktemp -d "$cache/new-XXXXXX")
trap 'rm -rf "$new"' EXIT
trap 'exit 130' INT TERM
if command -v flock >/dev/null; then # of two builds the second finds what the first made
	exec 9>"$cache/lock"
	flock 9
	[ ! -x "$folder/kubectl" ] || exit 0
fi

# Without these the server says v0.0.0-master. Nobody debugs this program: without DWARF it compiles faster.
set -- "$version" "$(echo "$version" | cut -d . -f 1 | tr -d v)" "$(echo "$version" | cut -d . -f 2)"
flags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	flags="$flags -X $package.gitVersion=$1 -X $package.gitMajor=$2 -X $package.gitMinor=$3"
done
limit= # a module proxy that accepts and never answers
if command -v timeout >/dev/null; then
	limit="timeout 1500"
fi
if ! GOFLAGS= CGO_ENABLED=0 $limit go build -mod=readonly -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "$flags" -o "$new/server" . 2>"$folder.log"; then
	{ echo "kube: not built; its tests are skipped:" && tail -n 3 "$folder.log"; } >&2
	exit 1
fi
rm -f "$folder.log"
for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl lws-manager kwok kwok-stages; do
	ln -s server "$new/$name"
done
mv "$new" "$folder"
