#   build-images.sh [REGISTRY/PATH]     by default kubernetes.test_images of the cluster file
#   BUILDER=podman|buildah|docker       by default the first of them that is installed
#   PUSH=no                             build only
set -euo pipefail

stop() {
	printf 'build-images.sh: %s\n' "$2" >&2
	exit "$1"
}

case $# in
0) ;;
1) images=$1 ;;
*) stop 64 "more than one registry; usage: build-images.sh [REGISTRY/PATH]" ;;
esac
images=${images%/}
[ -n "$images" ] || stop 64 "no registry: build-images.sh REGISTRY/PATH, and write the same into kubernetes.test_images of the cluster file"
here=$(cd "$(dirname "$0")" && pwd)
[ -r "$here/$containerfile" ] || stop 64 "$here/$containerfile: cannot be read"

builder=${BUILDER:-}
if [ -z "$builder" ]; then
	for b in podman buildah docker; do
		if command -v "$b" >/dev/null 2>&1; then
			builder=$b
			break
		fi
	done
fi
case $builder in
podman | buildah | docker) command -v "$builder" >/dev/null 2>&1 || stop 2 "$builder: is not installed" ;;
'') stop 2 "none of podman, buildah and docker is installed" ;;
*) stop 64 "BUILDER=$builder: unknown; known: podman, buildah, docker" ;;
esac

# The context is an empty folder: nothing of this machine gets into an image.
empty=$(mktemp -d)
trap 'rmdir "$empty"' EXIT
for stage in perftest collectives; do
	name=$images/$stage-$vendor:$tag
	printf 'build: %s\n' "$name"
	"$builder" build -f "$here/$containerfile" --target "$stage" -t "$name" "$empty"
	if [ "${PUSH:-yes}" = yes ]; then
		printf 'push: %s\n' "$name"
		"$builder" push "$name"
	fi
done
printf 'next: kubernetes: {test_images: %s} in the cluster file, then railwright render, then run-tests.sh\n' "$images"
