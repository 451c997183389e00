package diagnose

import (
	"regexp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// lean is how strongly something speaks for a cause.
type lean struct {
	cause  fabric.CauseID
	weight float64
}

// line is a message that a program prints, and what it speaks for: the causes that lead to that message, each
// with its share.
type line struct {
	form  *regexp.Regexp
	leans []lean
}

func printed(form string, leans ...lean) line { return line{regexp.MustCompile(`(?i)` + form), leans} }

// messages are all that are known. Their patterns are compiled where texts are read: most commands read none.
func messages() []line {
	return slices.Concat(ncclLines(), verbsLines(), hostLines(), portLines(), toolLines())
}

// linesOf finds what a text quotes of programs' messages: the strongest lean of each cause. A message that a
// program prints is more specific than the words of it.
func (r *reader) linesOf(text string) []lean {
	if len(text) > maxText {
		text = text[:maxText]
	}
	var out []lean
	for _, l := range r.lines {
		if !l.form.MatchString(text) {
			continue
		}
		for _, v := range l.leans {
			out = strongest(out, v)
		}
	}
	return out
}

func strongest(list []lean, v lean) []lean {
	for i := range list {
		if list[i].cause == v.cause {
			list[i].weight = max(list[i].weight, v.weight)
			return list
		}
	}
	return append(list, v)
}

// Messages of NCCL, RCCL, their plugins and the tests (src/misc/socket.cc, src/graph/xml.cc, src/transport/nvls.cc
// and net_ib.cc of NVIDIA/nccl; aws/aws-ofi-nccl; common.cu of NVIDIA/nccl-tests; src/init.cc of ROCm/rccl).
func ncclLines() []line {
	return []line{
		printed(`nvls\w*\.cc\S*.*(cuda failure|failed)|cuda failure.*nvls`, lean{fabric.CauseFabricManager, 0.7}, lean{fabric.CauseGPUDriver, hint}),
		printed(`system not yet initiali[sz]ed|error 802|fabric state .*in progress|failed to query fabric`, lean{fabric.CauseFabricManager, plain}),
		printed(`(socket\w*connect|bootstrap|net)\b.*(connect to|connection).*(refused|113|no route to host|timed out|timeout|110|111)|connect to \S+ (failed|returned).*(refused|no route|timed out|1[01][0-9])`, lean{fabric.CauseFirewall, 0.6}, lean{fabric.CauseRouteMissing, 0.25}, lean{fabric.CauseEnvNotForwarded, 0.15}),
		printed(`selected provider is (tcp|sockets|udp)|net/ofi.*provider.*(tcp|sockets)`, lean{fabric.CauseSocketFallback, plain}, lean{fabric.CauseNetPlugin, 0.3}),
		printed(`net/ib ?: ?no device found|failed to open libibverbs|libibverbs\.so\S* ?: cannot open|using network socket|net/socket ?: ?using|via net/socket`, lean{fabric.CauseSocketFallback, plain}),
		printed(`net/ofi.*(fail|error|abort|unable|could not)|fi_getinfo\S*.*(no data|empty|fail)|no eligible provider|provider efa output empty`, lean{fabric.CauseNetPlugin, 0.6}, lean{fabric.CauseSocketFallback, 0.3}),
		printed(`(net|tuner)/plugin.*(undefined symbol|incompatible|mismatch|symbol version|glibc)`, lean{fabric.CauseNetPlugin, plain}, lean{fabric.CauseLibraryBuild, 0.25}),
		printed(`symbol lookup error|undefined symbol: nccl|mismatched nccl version|nccl version mismatch|no kernel image is available|unsupported gpu architecture|version .?glibc\S* not found`, lean{fabric.CauseLibraryBuild, plain}),
		printed(`xml parse error|xml mismatch|could not open xml|xml file.*(not|error|fail)|xml import.*(fail|error)|unsupported version.*xml|ignoring element`, lean{fabric.CauseTopoXMLWrong, 0.85}),
		printed(`numa auto balancing enabled`, lean{fabric.CauseNumaBalancing, 0.7}),
		printed(`missing "?iommu=pt`, lean{fabric.CauseIOMMUTranslated, 0.6}),
		printed(`gpu direct rdma disabled.*distance|distance \d+ > \d+`, lean{fabric.CauseVMTopologyMissing, 0.35}, lean{fabric.CauseGPUNICMisaligned, 0.35}, lean{fabric.CauseGDRDisabled, 0.2}),
		printed(`nranks 1\b`, lean{fabric.CauseMPINotBuilt, plain}),
	}
}

// Messages of verbs and of work completions (ibv_wc_status of rdma-core; errno of ibv_modify_qp is what the kernel
// finds on the way to the peer's address).
func verbsLines() []line {
	return []line{
		printed(`ibv_modify_qp.*(network is unreachable|101|ENETUNREACH)`, lean{fabric.CauseRouteMissing, 0.65}, lean{fabric.CauseGIDIndex, 0.3}),
		printed(`ibv_modify_qp.*(no route to host|113|EHOSTUNREACH)`, lean{fabric.CauseRouteMissing, 0.55}, lean{fabric.CauseARPFlux, 0.3}, lean{fabric.CauseGIDIndex, 0.3}),
		printed(`(ibv_)?modify[_ ]qp.*(timed out|110|ETIMEDOUT)|rtr.*(timed out|110)`, lean{fabric.CauseGIDIndex, 0.5}, lean{fabric.CauseRouteMissing, 0.35}, lean{fabric.CauseARPFlux, 0.25}),
		printed(`(ibv_)?modify_qp.*(invalid argument|22|EINVAL)`, lean{fabric.CauseGIDIndex, 0.4}, lean{fabric.CauseMTUMismatch, 0.4}),
		printed(`(ibv_)?modify_qp.*(no data available|61|no such device|19\b)`, lean{fabric.CauseGIDIndex, 0.6}),
		printed(`ibv_(reg_mr|create_cq|create_qp)\w*.*(cannot allocate|can't allocate|memory|ENOMEM|12\b)|couldn.?t allocate mr|failed to create qp`, lean{fabric.CauseMemlock, 0.7}),
		printed(`ibv_reg(_dmabuf)?_mr\w*.*(bad address|14\b|EFAULT|not supported|95\b|invalid argument)`, lean{fabric.CauseGDRDisabled, 0.6}, lean{fabric.CauseACSRedirect, 0.2}),
		printed(`(completion|status|error|wc)\D{0,40}\b(status ?= ?|error )4\b|vendor err(or)? 81\b|local protection error`, lean{fabric.CauseACSRedirect, 0.5}, lean{fabric.CauseGDRDisabled, 0.35}),
		printed(`(completion|status|error|wc)\D{0,40}\b(status ?= ?|error )(10|11)\b|remote (access|operation) error|vendor err(or)? 136\b`, lean{fabric.CauseACSRedirect, 0.45}, lean{fabric.CauseGDRDisabled, 0.3}),
		printed(`(status ?=? ?|error )12\b|retry exc|retry counter exceeded|vendor err(or)? 129\b|syndrom 0x81`, lean{fabric.CauseMTUMismatch, 0.42}, lean{fabric.CauseGIDIndex, 0.36}, lean{fabric.CauseRoCELossy, 0.25}, lean{fabric.CauseRouteMissing, 0.2}, lean{fabric.CauseLinkDown, 0.15}),
		printed(`couldn.?t load driver|does not support the kernel abi|kernel abi version|no userspace device-specific driver`, lean{fabric.CauseDriverABI, 0.8}),
		printed(`unknown symbol|disagrees about version of symbol|invalid module format`, lean{fabric.CauseDriverConflict, 0.8}),
		printed(`mad_rpc_open_port|can.?t open umad|sminfo: iberror|iberror: failed: query`, lean{fabric.CauseSubnetManager, 0.3}),
	}
}

// Messages of kernels, drivers and management tools of a host.
func hostLines() []line {
	return []line{
		printed(`xid[^\n]{0,30}\b(74|144|145|146|147|148|149|150)\b|\bSXid\b`, lean{fabric.CauseNVLinkDegraded, plain}, lean{fabric.CauseFabricManager, 0.2}),
		printed(`xid[^\n]{0,30}\b(31|43|48|61|62|63|64|79|92|94|95|119|120)\b|fallen off the bus|(smi|nvidia|gpu|cuda)[^\n]*no devices were found|^no devices were found|no cuda-capable|invalid device ordinal|driver/library version mismatch|couldn.?t communicate with the nvidia driver`, lean{fabric.CauseGPUDriver, 0.8}),
		printed(`cuda driver version is insufficient`, lean{fabric.CauseGPUDriver, 0.55}, lean{fabric.CauseLibraryBuild, 0.45}),
		printed(`link \d+ ?: ?<?inactive|nvlink[^\n]{0,40}inactive|(crc|replay|recovery)[^\n]{0,20}error[^\n]{0,30}nvlink`, lean{fabric.CauseNVLinkDegraded, 0.8}),
		printed(`(hw|sw)[ _](thermal|power)?[ _]?(slowdown|cap|brake)[^\n:]{0,20}: ?active|clocks_throttle_reasons[^\n]*\bactive|clocks_event_reasons[^\n]*: ?active|prochot`, lean{fabric.CauseGPUThrottled, 0.85}),
		printed(`available pcie bandwidth, limited by`, lean{fabric.CausePCIeDowngraded, 0.6}, lean{fabric.CausePCIeDowngradedUpstream, 0.4}),
		printed(`lnksta:[^\n]*downgraded`, lean{fabric.CausePCIeDowngraded, 0.8}),
		printed(`acsctl:[^\n]*(srcvalid\+|reqredir\+|cmpltredir\+)`, lean{fabric.CauseACSRedirect, 0.8}),
		printed(`atsctl:[^\n]*enable-|ats_enabled[ =:]*(false|0)`, lean{fabric.CauseATSDisabled, 0.8}),
		printed(`relax order ?: ?off|rlxdord-|pci_wr_ordering[^\n]{0,20}(per_mkey|\(0\)|= ?0)`, lean{fabric.CauseNICProfile, 0.5}),
		printed(`setets|dcbx?[^\n]{0,40}(fail|error|not permitted|busy)|lldp_nb_dcbx\S*[^\n]{0,20}(true|1)`, lean{fabric.CauseFirmwareDCBX, 0.8}),
		printed(`numa_balancing[^\n]{0,20}\b1\b`, lean{fabric.CauseNumaBalancing, plain}),
		printed(`max locked memory[^\n]*\b\d{1,6}\b|ulimit -l[^\n]{0,30}\b\d{1,6}\b|memlock[^\n]{0,30}\b\d{1,6}\b`, lean{fabric.CauseMemlock, 0.8}),
	}
}

// Messages of ports: ibstat, rdma link, ethtool, opensm, counters of mlx5 and bnxt_re.
func portLines() []line {
	return []line{
		printed(`state:? ?(4?: ?)?init(ializ\w+)?\b|sm lid:? ?(0x)?0+\b|sm_lid 0\b`, lean{fabric.CauseSubnetManager, 0.8}),
		printed(`state:? ?(1: )?down\b|physical[_ ]state:? ?(polling|disabled)|no-carrier|link detected: no`, lean{fabric.CauseLinkDown, plain}),
		printed(`\b(rx_discards_phy|rx_out_of_buffer|out_of_sequence|packet_seq_err|rnr_nak_retry_err|local_ack_timeout_err|implied_nak_seq_err|roce_adp_retrans|roce_slow_restart\w*|seq_err_naks?_rcvd|oos_drop_count|res_oos_drop_count|rx_discard\w*|tx_discard\w*|rx_prio\d_discards)\b[^\n]{0,24}[1-9]`, lean{fabric.CauseRoCELossy, 0.7}),
		printed(`\b(symbol_error\w*|link_error_recovery|link_downed|rx_symbol_err_phy|rx_pcs_symbol_err_phy|fec_uncorrect\w*|local_link_integrity_errors|port_rcv_errors)\b[^\n]{0,24}[1-9]`, lean{fabric.CauseSlowLink, 0.6}),
	}
}
