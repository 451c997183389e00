# Adds the public keys of standard input to those that this account accepts. What is there stays.
set -eu
umask 077
cd
mkdir -p .ssh
chmod go-w .ssh
file=$HOME/.ssh/authorized_keys
[ ! -L "$file" ] || file=$(readlink -f "$file")
copy=$(mktemp .ssh/.railwright.XXXXXX)
trap 'rm -f "$copy"' EXIT
if [ -e "$file" ]; then cp -p "$file" "$copy"; fi
[ ! -s "$copy" ] || [ "$(tail -c 1 "$copy" | wc -l)" -eq 1 ] || echo >>"$copy"
while read -r type blob comment; do
	grep -v '^#' "$copy" | grep -qF "$type $blob" || echo "$type $blob${comment:+ $comment}" >>"$copy"
done
chmod go-w "$copy"
mv -f "$copy" "$file"
