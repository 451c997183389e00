# What plant.sh runs a plant with; $out, $work, $program, $debug and $limit are plant.sh's. before (a command that
# starts mpirun), mpi (flags of mpirun), args (of the program), program and limit may be set for one call, as words.
args_one="all_reduce 8 $gibi 4 20"
args_two="all_reduce 8 $((256 * mebi)) 4 5"
before='' mpi='' args=''

named() { # NAME=VALUE -> name-value
  tr 'A-Z_=' 'a-z\-\-' <<<"$1"
}

# run_in_time LOG COMMAND...: its output into LOG, and its exit status
run_in_time() {
  local log=$1
  shift
  timeout -k 5 $((limit + 15)) "$@" >"$log" 2>&1 </dev/null
}

# the bus bandwidth of the last row of a table, GB/s, out of place; nothing where there is none
busbw_of() { # LOG
  sed -E 's/^\[[^]]*\](<[a-z]*>)?: ?//' "$1" | awk '$3 == "float" && $8 ~ /^[0-9.]+$/ && NF >= 13 {b = $8} END {if (b != "") print b}'
}

text() { # a JSON string
  local s=${1//\\/\\\\}
  printf '"%s"' "${s//\"/\\\"}"
}

list() { # a JSON list of strings
  local comma=
  printf '['
  for s in "$@"; do
    printf '%s' "$comma"
    text "$s"
    comma=', '
  done
  printf ']'
}

# record NAME KIND CAUSES CONTROL STATUS COMMAND SETTING...: a line of the index
record() {
  local busbw
  busbw=$(busbw_of "$out/$1.log")
  {
    printf '{"name": %s, "log": %s, "kind": %s, "causes": %s, ' "$(text "$1")" "$(text "$1.log")" "$(text "$2")" "$(list $3)"
    printf '"control": %s, "status": %d, "busbw": %s, "command": %s, ' "$(text "$4")" "$5" "${busbw:-null}" "$(text "$6")"
    printf '"settings": %s}\n' "$(list "${@:7}")"
  } >"$work/$1.json"
  printf '%4d s  %-28s exit %3d  busbw %s\n' $SECONDS "$1" "$5" "${busbw:--}" >&2
}

# one NAME KIND CAUSES CONTROL SETTING...: both ranks on this host, with NCCL's log
one() {
  local name=$1 kind=$2 causes=$3 control=$4 status=0
  shift 4
  local command=(mpirun -np 2 --bind-to none --timeout $limit $mpi "$program" ${args:-$args_one})
  run_in_time "$out/$name.log" env "${debug[@]}" "$@" $before "${command[@]}" || status=$?
  record "$name" "$kind" "$causes" "$control" $status "$* $before ${command[*]}" "$@"
}

# table NAME SETTING...: the same without NCCL's log
table() {
  local name=$1
  shift
  run_in_time "$out/$name.table" env "$@" $before mpirun -np 2 --bind-to none --timeout $limit "$program" all_reduce $mebi $gibi 2 10 ||
    echo "# failed: exit $?" >>"$out/$name.table"
  printf '%4d s  %-28s table  busbw %s\n' $SECONDS "$name" "$(busbw_of "$out/$name.table")" >&2
}

# host_table NAME SETTING...: the same between the two hosts; the settings are those of both
host_table() {
  local name=$1 s forwarded=()
  shift
  for s in "$@"; do forwarded+=(-x "${s%%=*}"); done
  run_in_time "$out/$name.table" env "$@" "$here/hosts.sh" on gpu-a mpirun --prtemca plm_ssh_agent "$(login_of "$name")" \
    -np 2 --host gpu-a,gpu-b --bind-to none --timeout $limit "${forwarded[@]}" --prtemca prte_if_include eth0 \
    --mca btl self,tcp --mca btl_tcp_if_include eth0 "$program" $args || echo "# failed: exit $?" >>"$out/$name.table"
  printf '%4d s  %-28s table  busbw %s\n' $SECONDS "$name" "$(busbw_of "$out/$name.table")" >&2
}

# login_of NAME VAR=VALUE...: what a shell on gpu-b has in its environment; returns the agent that mpirun starts it by
login_of() {
  local file=$HOSTS/$1.login
  printf '%s\n' "PATH=$PATH" HOME=/root "OPAL_PREFIX=$OPAL_PREFIX" "LD_LIBRARY_PATH=$LD_LIBRARY_PATH" NCCL_NVLS_ENABLE=0 "${@:2}" >"$file"
  sed -i '/^[A-Z_]*=$/d' "$file"
  printf '#!/bin/bash\nHOSTS=%q exec %q agent %q "$@"\n' "$HOSTS" "$here/hosts.sh" "$file" >"$HOSTS/$1.agent"
  chmod +x "$HOSTS/$1.agent"
  echo "$HOSTS/$1.agent"
}

# two NAME KIND CAUSES CONTROL WHERE:SETTING...: one rank on each host; WHERE is both, gpu-a or gpu-b
two() {
  local name=$1 kind=$2 causes=$3 control=$4 status=0 s here_too=() forwarded=(-x NCCL_DEBUG -x NCCL_DEBUG_SUBSYS) there=()
  shift 4
  for s in "$@"; do
    case $s in
      both:*) s=${s#both:} here_too+=("$s") forwarded+=(-x "${s%%=*}") ;;
      gpu-a:*) here_too+=("${s#gpu-a:}") ;;
      gpu-b:*) there+=("${s#gpu-b:}") ;;
    esac
  done
  local command=(mpirun -np 2 --host gpu-a,gpu-b --bind-to none --tag-output --timeout $limit "${forwarded[@]}"
    --prtemca prte_if_include eth0 --mca btl self,tcp --mca btl_tcp_if_include eth0 "$program" ${args:-$args_two})
  local agent=(--prtemca plm_ssh_agent "$(login_of "$name" "${there[@]}")")
  run_in_time "$out/$name.log" env "${debug[@]}" "${here_too[@]}" $before "$here/hosts.sh" on gpu-a \
    "${command[0]}" "${agent[@]}" "${command[@]:1}" || status=$?
  record "$name" "$kind" "$causes" "$control" $status "${here_too[*]} $before ${command[*]}" "$@"
}

# topology NAME SED-SCRIPT: the path of the machine's topology as NCCL dumps it, changed
topology() {
  local file=$work/$1.xml
  [ -s "$work/topo.xml" ] || NCCL_TOPO_DUMP_FILE=$work/topo.xml run_in_time "$work/topo.log" "$alone" all_reduce $mebi $mebi 2 1
  sed -E "$2" "$work/topo.xml" >"$file"
  cp "$file" "$out/" # the file that was planted belongs to the data
  echo "$file"
}

# another process holds GPU 1's memory but for a little: so little that NCCL gets none, then enough for NCCL and not for the buffers
full_memory() {
  local left holder
  for left in 600 1600; do
    python3 "$here/hold-memory.py" 1 $left >"$work/holder" 2>&1 &
    holder=$!
    for _ in $(seq 200); do
      grep -q holds "$work/holder" || ! kill -0 $holder 2>/dev/null && break
      sleep 0.1
    done
    one "gpu-memory-$left-MiB-left" sick gpu-memory two-gpus
    kill $holder
    wait $holder 2>/dev/null
  done
}

# in_the_middle NAME COMMAND...: runs the command once the log of a plant has its row of 1 MiB
in_the_middle() {
  local log=$out/$1.log
  shift
  for _ in $(seq 400); do
    grep -aq ' 1048576  *262144 ' "$log" 2>/dev/null && break
    sleep 0.05
  done
  "$@"
}

# signal_rank NAME SIGNAL: sends it to rank 1 of a plant's run
signal_rank() {
  local pid
  pid=$(sed -n 's/^.*# *Rank *1 .*Pid *\([0-9]*\) on.*/\1/p' "$out/$1.log")
  [ -z "$pid" ] || kill -s "$2" "$pid"
}

# signalled NAME CAUSES SIGNAL: rank 1 gets a signal in the middle of the table; of two hosts if $where is gpu-b
where=
signalled() {
  in_the_middle "$1" signal_rank "$1" "$3" &
  if [ "$where" = gpu-b ]; then
    limit=20 args="all_reduce 8 $((256 * mebi)) 2 50" two "$1" sick "$2" two-hosts
  else
    limit=20 args="all_reduce 8 $gibi 2 200" one "$1" sick "$2" two-gpus
  fi
  wait $!
}

# the link between the hosts goes down in the middle of the table
link_falls() {
  in_the_middle link-falls ip -n gpu-b link set eth0 down &
  limit=12 args="all_reduce 8 $((256 * mebi)) 2 50" two link-falls sick link-down two-hosts
  wait $!
  for h in gpu-a gpu-b; do ip netns pids $h | xargs -r kill -s KILL; done # they do not learn that the job has ended
  ip -n gpu-b link set eth0 up
  "$here/hosts.sh" address eth0
}

# mismatched: rank 1 calls another collective than rank 0
mismatched() {
  local status=0 command
  command=(mpirun --bind-to none --timeout 20 -np 1 "$program" all_reduce 1024 $((16 * mebi)) 4 20 : -np 1 "$program" broadcast 1024 $((16 * mebi)) 4 20)
  run_in_time "$out/collectives-differ.log" env NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,COLL "${command[@]}" || status=$?
  record collectives-differ sick collective-mismatch two-gpus $status "${command[*]}"
}

# index: all lines of the index, in the order of their making
index() {
  {
    echo '['
    (cd "$work" && ls -tr -- *.json 2>/dev/null | xargs -r cat) | sed '$!s/$/,/'
    echo ']'
  } >"$out/index.json"
}

# clean: the name, addresses and folders of this machine are replaced in all that was written
clean() {
  local f host addresses=()
  host=$(uname -n)
  for a in $(hostname -I 2>/dev/null); do addresses+=(-e "s/${a//./\\.}/10.0.0.1/g"); done
  for f in "$out"/*.log "$out"/*.table "$out"/index.json; do
    [ -e "$f" ] || continue
    sed -i -E -e "s/on  *$host device/on      gpu-a device/; s/\b$host\b/gpu-a/g" "${addresses[@]}" \
      -e "s#$work/#/etc/nccl/#g; s#${OPAL_PREFIX:-/opt/openmpi}#/opt/openmpi#g; s#${OTHER_NCCL:-/opt/nccl-other}#/opt/nccl-other/lib#g" \
      -e "s#${LD_LIBRARY_PATH%%:*}#/opt/nccl/lib#g; s#$here/##g; s#^work/#/etc/nccl/#" -e 's/\x00//g' "$f"
  done
}
