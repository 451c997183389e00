# Finds a folder in which a program can lie and run, prints "in FOLDER" (before it a line for each that
# would not do), waits until standard input ends, and removes the folder. $1 begins its name, the others
# are where it may be. Standard input ends too when the connection breaks.
umask 077
name=$1
shift
d=
trap '[ -z "$d" ] || rm -rf "$d"' EXIT
trap 'exit 1' HUP INT TERM PIPE
try() {
	cat >"$1" <<-'END' && chmod 700 "$1"
		#!/bin/sh
		exit 0
	END
}
for parent; do
	case $parent in
	'$XDG_RUNTIME_DIR') parent=${XDG_RUNTIME_DIR-} ;;
	'$HOME') parent=${HOME-} ;;
	esac
	[ -n "$parent" ] || continue
	if ! made=$(mktemp -d "$parent/$name.XXXXXXXXXX" 2>&1); then
		echo "$parent: $made"
		continue
	fi
	d=$made
	if ! why=$(try "$d/try" 2>&1); then
		echo "$parent: cannot write: $why"
	elif ! why=$("$d/try" 2>&1); then
		echo "$parent: does not let programs run: $why"
	else
		rm -f "$d/try"
		echo "in $d"
		cat >/dev/null
		rm -rf "$d"
		exit
	fi
	rm -rf "$d"
	d=
done
exit 1
