#!/bin/bash
# Gives real NCCL the topology file that $1 (the program) writes for this machine, and files that are broken in one
# way each, and writes what NCCL did with them to $2/topology.txtar: NAME.xml, and NAME.nccl with its exit status,
# its warnings and hints, the system that it then believes in, and the bus bandwidth of all_reduce at 256 MiB.
# Files are made of the first by sed, for a machine of two GPUs.
set -euo pipefail
program=$1
out=$2/topology.txtar
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$out"

measure() { # NAME [PATH of the file that NCCL gets]
  local name=$1 status=0 file=${2:-$work/$1.xml}
  (
    [ "$file" = none ] || export NCCL_TOPO_FILE=$file
    rm -f "$work/nccl"
    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH NCCL_DEBUG_FILE=$work/nccl timeout 60 "$here/collectives" all_reduce $((256 << 20)) $((256 << 20)) 2 10
  ) >"$work/log" 2>&1 || status=$?
  if [ -e "$work/$name.xml" ]; then
    echo "-- $name.xml --"
    cat "$work/$name.xml"
    [ -z "$(tail -c1 "$work/$name.xml")" ] || echo # a file in an archive ends with its line
  fi
  echo "-- $name.nccl --"
  echo "exit $status"
  touch "$work/nccl"
  sed -n 's/^.*NCCL WARN /warn /p; s/^.*NCCL INFO \(KV Convert.*\|.*[Cc]ould not.*\|.*[Ii]gnor.*\|.*not found.*\|.*NCCL_TOPO_FILE.*\|.*assuming.*\)$/info \1/p' "$work/nccl" |
    sed "s#$work/##g; s/ [a-z_./]*\.cc:[0-9]*//" | sort -u
  sed -n 's/^.*\[0\] NCCL INFO \(=== System.*\|CPU\/.*\|+ .*\| *+ .*\|GPU\/[^ ]* :.*\|NET\/[0-9][^ ]* :.*\|Pattern .*\)$/\1/p' "$work/nccl"
  awk '$1 == 268435456 {print "busbw " $8}' "$work/log"
}

variant() { # NAME SED-SCRIPT: the base changed by sed
  sed -E "$2" "$work/base.xml" >"$work/$1.xml"
  if cmp -s "$work/$1.xml" "$work/base.xml"; then
    echo "topology.sh: $1 changes nothing" >&2
    exit 1
  fi
  measure "$1" >>"$out"
}

text() { # NAME: standard input as it is
  cat >"$work/$1.xml"
  measure "$1" >>"$out"
}

measure no-file none >>"$out"
measure unreadable-path /nonexistent/topo.xml >>"$out"
"$program" topo nccl >"$work/base.xml"
measure base >>"$out"

# what the parser takes or not
variant declaration '1i <?xml version="1.0"?>'
variant tab 's/^    <pci/\t<pci/'
variant attribute-on-new-line '0,/ class=/s// \n class=/'
variant unquoted '0,/dev="0"/s//dev=0/'
variant single-quotes "0,/dev=\"0\"/s//dev='0'/"
variant no-version 's/<system version="1">/<system>/'
variant other-version 's/<system version="1">/<system version="2">/'
variant close-mismatch '0,/<\/gpu>/s//<\/apu>/'
variant missing-close '0,/<\/gpu>/{/<\/gpu>/d}'
variant extra-close 's/^<\/system>/<\/cpu>\n<\/system>/'
variant cut '/<\/cpu>/,$d'
variant long-value "0,/dev=\"0\"/s//dev=\"0\" note=\"$(printf 'x%.0s' {1..300})\"/"
variant value-254 "0,/dev=\"0\"/s//dev=\"0\" note=\"$(printf 'x%.0s' {1..254})\"/"
variant many-attributes "0,/dev=\"0\"/s//dev=\"0\" $(printf 'a%s=\"1\" ' {1..17})/"
variant comment '2i <!-- a comment -->'
variant comment-inside '0,/<gpu/s//<!-- two\nlines --><gpu/'
variant entity '0,/dev="0"/s//dev="0" note="a\&amp;b"/'
variant crlf 's/$/\r/'
variant bom '1s/^/\xef\xbb\xbf/'
variant text-before '1i topo.xml'
variant text-inside '0,/<gpu/s//hello <gpu/'
variant blank-before-slash 's/\/>/ \/>/'
variant two-blanks '0,/ class=/s//  class=/'
variant blank-around-equals '0,/dev="0"/s//dev = "0"/'
variant upper-case '0,/<gpu/s//<GPU/;0,/<\/gpu>/s//<\/GPU>/'
variant two-systems '$a <system version="1">\n</system>'
variant no-cpu '/<cpu/d;/<\/cpu>/d'
text empty </dev/null
text not-xml <<<'hello'
text only-system <<<'<system version="1">
</system>'
text many-elements < <(sed -n '1,/<cpu/p' "$work/base.xml"; for i in {1..300}; do printf '    <pci busid="00%02x:%02x:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16"/>\n' $((1 + i / 200)) $((i % 200)); done; sed '1,/<cpu/d' "$work/base.xml")
text many-children < <(sed -n '1,/<cpu/p' "$work/base.xml"; for i in {1..700}; do echo '    <foo/>'; done; sed '1,/<cpu/d' "$work/base.xml")

# what is missing
for a in busid class link_speed link_width vendor device; do variant "pci-without-$a" "s/(<pci.*) $a=\"[^\"]*\"/\1/"; done
for a in numaid arch vendor familyid modelid affinity; do
  ! grep -q "<cpu.* $a=" "$work/base.xml" || variant "cpu-without-$a" "s/(<cpu.*) $a=\"[^\"]*\"/\1/"
done
for a in dev sm rank; do variant "gpu-without-$a" "s/(<gpu.*) $a=\"[^\"]*\"/\1/"; done
for a in target count tclass; do variant "nvlink-without-$a" "s/(<nvlink.*) $a=\"[^\"]*\"/\1/"; done

# what is misread
variant speed-without-pcie 's/32.0 GT\/s PCIe/32.0 GT\/s/'
variant speed-short 's/32.0 GT\/s PCIe/32 GT\/s/'
variant speed-gen5 's/32.0 GT\/s PCIe/Gen5/'
variant speed-64 's/32.0 GT\/s PCIe/64 GT\/s/'
variant speed-64-pcie 's/32.0 GT\/s PCIe/64.0 GT\/s PCIe/'
variant speed-empty 's/32.0 GT\/s PCIe//'
variant speed-gen3 's/32.0 GT\/s PCIe/8.0 GT\/s PCIe/'
variant width-8 's/link_width="[^"]*"/link_width="8"/'
variant width-x8 's/link_width="[^"]*"/link_width="x8"/'
variant width-empty 's/link_width="[^"]*"/link_width=""/'
variant count-6 's/count="18"/count="6"/'
variant count-split 's/( *)<nvlink (.*)count="18"(.*)/\1<nvlink \2count="10"\3\n\1<nvlink \2count="8"\3/'
variant tclass-gpu 's/tclass="0x068000"/tclass="0x030200"/'
variant tclass-cpu 's/tclass="0x068000"/tclass="0x068001"/'
variant nvlink-misspelt 's/nvlink/nvlnk/g'
variant class-as-nic 's/class="0x030200"/class="0x020000"/'
variant class-unknown 's/class="0x030200"/class="0x123456"/'
variant class-3d-controller 's/class="0x030200"/class="0x030000"/'
variant bus-without-domain 's/busid="0000:/busid="/'
variant bus-of-nobody '0,/busid="0000:00:06.0"/s//busid="0000:00:1f.0"/'
variant bus-twice 's/busid="0000:00:07.0"/busid="0000:00:06.0"/'
variant dev-twice 's/dev="1" sm/dev="0" sm/'
variant rank-twice 's/rank="1"/rank="0"/'
variant gdr-0 's/(<gpu.*) rank=/\1 gdr="0" rank=/'
variant gdr-misspelt 's/(<gpu.*) rank=/\1 qdr="1" rank=/'
variant sm-80 's/sm="90"/sm="80"/'
variant pcie-element 's/<pci /<pcie /;s/<\/pci>/<\/pcie>/'
variant numa-1 's/numaid="-1"/numaid="1"/'
variant arch-arm 's/arch="x86_64"/arch="arm64"/'
variant vendor-amd 's/GenuineIntel/AuthenticAMD/'
variant net-elsewhere 's/<\/cpu>/<net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="1" gdr="1"\/>\n  <\/cpu>/'
variant net-of-nobody 's/<\/cpu>/<nic>\n<net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="1" gdr="1"\/>\n<\/nic>\n  <\/cpu>/'
variant net-speed-400g 's/<\/cpu>/<nic>\n<net name="eth0" dev="0" speed="400000" port="0" guid="0x0" maxconn="1" gdr="0"\/>\n<\/nic>\n  <\/cpu>/'
variant net-speed-0 's/<\/cpu>/<nic>\n<net name="eth0" dev="0" speed="0" port="0" guid="0x0" maxconn="1" gdr="0"\/>\n<\/nic>\n  <\/cpu>/'
variant net-without-speed 's/<\/cpu>/<nic>\n<net name="eth0" dev="0" port="0" guid="0x0" maxconn="1" gdr="0"\/>\n<\/nic>\n  <\/cpu>/'
variant behind-one-switch 's/(<cpu.*)/\1\n    <pci busid="0000:20:00.0" class="0x060400" link_speed="16.0 GT\/s PCIe" link_width="16">/;s/( *)<\/cpu>/    <\/pci>\n\1<\/cpu>/'
variant pcilink-to-nobody '0,/<gpu/s//<pcilink target="0000:99:00.0"\/>\n<gpu/'
