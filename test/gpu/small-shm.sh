#!/bin/bash
# small-shm.sh SIZE COMMAND...: runs the command with a /dev/shm of this size (1m: one MiB), which it alone sees.
exec unshare -m bash -c 'mount -t tmpfs -o size="$1" tmpfs /dev/shm && shift && exec "$@"' - "$@"
