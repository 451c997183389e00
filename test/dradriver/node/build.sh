#!/bin/sh
# Builds the driver and the kubelet of the tests once, outside the checkout, and prints their program.
# -n: only prints it. Its folder's name says what it was built from, so that a change makes a new one.
set -eu
cd "$(dirname "$0")"

folder=${XDG_CACHE_HOME:-$HOME/.cache}/railwright/dradriver-$(cat go.mod go.sum *.go build.sh | cksum | tr ' ' -)
echo "$folder/node"
[ "${1:-}" != -n ] || exit 0
[ ! -x "$folder/node" ] || exit 0

mkdir -p "$folder"
new=$(mktemp "$folder/new-XXXXXX")
trap 'rm -f "$new"' EXIT
trap 'exit 130' INT TERM
# Without WASM plugins, which the runtime's side of NRI could run too. Nobody debugs this program: without DWARF it compiles faster.
if ! GOFLAGS= CGO_ENABLED=0 go build -mod=readonly -tags nri_no_wasm -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w" -o "$new" . 2>"$folder/log"; then
	{ echo "dradriver: not built; its tests are skipped:" && tail -n 3 "$folder/log"; } >&2
	exit 1
fi
rm -f "$folder/log"
mv "$new" "$folder/node"
