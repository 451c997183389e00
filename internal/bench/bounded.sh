# sh -c THIS sh SECONDS OWNER COMMAND...: runs COMMAND, ends it after SECONDS, or when standard input ends.
# OWNER true: as the user who logged in, where sudo made us root.
limit=$1 owner=$2
shift 2
if [ "$owner" = true ] && [ "$(id -u)" = 0 ]; then
	if [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
		set -- sudo -n -H -u "$SUDO_USER" -- "$@"
	else
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
		export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
	fi
fi
exec 3<&0
timeout -k 5 "$limit" "$@" </dev/null 3<&- &
child=$!
{
	cat <&3 >/dev/null
	sleep 1 # timeout may just be starting
	kill "$child"
} >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$child"
status=$?
kill "$watch" 2>/dev/null
exit "$status"
