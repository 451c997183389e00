# Gives this account a key of its own, and makes it known to and by the other machines of a cluster. On standard input, one a
# line: "key PUBLIC-KEY" for authorized_keys, "host NAMES TYPE BLOB" for known_hosts. Prints "public KEY" first, then
# "changed FILE" for each file that it changed, or "refused NAME TYPE FILE" and changes nothing: another key is known there.
set -eu
export LC_ALL=C
umask 077
cd
folder=$HOME/.ssh
mkdir -p "$folder"
chmod go-w "$folder"
if [ ! -e "$folder/id_ed25519" ]; then
	ssh-keygen -q -t ed25519 -N '' -f "$folder/id_ed25519"
	echo "changed $folder/id_ed25519"
fi
[ -s "$folder/id_ed25519.pub" ] || ssh-keygen -y -P '' -f "$folder/id_ed25519" >"$folder/id_ed25519.pub"
public=$(cat "$folder/id_ed25519.pub")
echo "public $public"

work=$(mktemp -d "$folder/.railwright.XXXXXX")
trap 'rm -rf "$work"' EXIT
cat >"$work/in"

# A copy of a file, or of nothing, that ends with a line.
copy() {
	if [ -e "$1" ]; then cp -p "$1" "$2"; else : >"$2"; fi
	[ ! -s "$2" ] || [ "$(tail -c 1 "$2" | wc -l)" -eq 1 ] || echo >>"$2"
}
# Replaces a file at once where the copy has more than it.
settle() {
	if [ -e "$1" ] && cmp -s "$1" "$2"; then return; fi
	[ -s "$2" ] || return 0
	chmod go-w "$2"
	sync -f "$2" 2>/dev/null || :
	mv -f "$2" "$1"
	echo "changed $1"
}

known=$folder/known_hosts
[ ! -L "$known" ] || known=$(readlink -f "$known")
copy "$known" "$work/known"
refused=0
while read -r word names type blob; do
	[ "$word" = host ] || continue
	for name in $(echo "$names" | tr , ' '); do
		if ssh-keygen -F "$name" -f "$known" 2>/dev/null | grep -v '^#' | grep -F " $type " | grep -qvF " $blob"; then
			echo "refused $name $type $known"
			refused=1
		elif ! ssh-keygen -F "$name" -f "$known" 2>/dev/null | grep -v '^#' | grep -qF " $type $blob"; then
			echo "$name $type $blob" >>"$work/known"
		fi
	done
done <"$work/in"
[ $refused = 0 ] || exit 0

authorized=$folder/authorized_keys
[ ! -L "$authorized" ] || authorized=$(readlink -f "$authorized")
copy "$authorized" "$work/authorized"
while read -r word type blob comment; do
	[ "$word" = key ] || continue
	grep -v '^#' "$work/authorized" | grep -qF "$type $blob" || echo "$type $blob${comment:+ $comment}" >>"$work/authorized"
done <"$work/in"
settle "$known" "$work/known"
settle "$authorized" "$work/authorized"
