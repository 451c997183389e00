package diagnose

import (
	"regexp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// causeWeight is how strongly something points to a cause.
type causeWeight struct {
	cause  fabric.CauseID
	weight float64
}

// message is a message that a program prints, and what it points to: the causes that lead to that message, each
// with its share.
type message struct {
	form   *regexp.Regexp
	causes []causeWeight
}

func printed(form string, causes ...causeWeight) message {
	return message{regexp.MustCompile(`(?i)` + form), causes}
}

// messages are all that are known. Their patterns are compiled where texts are read: most commands read none.
func messages() []message {
	return slices.Concat(ncclMessages(), verbsMessages(), hostMessages(), portMessages(), toolMessages())
}

// messageWeights finds what a text quotes of programs' messages: the largest weight of each cause. A message that a
// program prints is more specific than the words of it.
func (r *reader) messageWeights(text string) []causeWeight {
	if len(text) > maxText {
		text = text[:maxText]
	}
	var out []causeWeight
	for _, l := range r.lines {
		if !l.form.MatchString(text) {
			continue
		}
		for _, v := range l.causes {
			out = strongest(out, v)
		}
	}
	return out
}

func strongest(list []causeWeight, v causeWeight) []causeWeight {
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
func ncclMessages() []message {
	return []message{
		printed(`nvls\w*\.cc\S*.*(cuda failure|failed)|cuda failure.*nvls`, causeWeight{fabric.CauseFabricManager, 0.7}, causeWeight{fabric.CauseGPUDriver, hint}),
		printed(`system not yet initiali[sz]ed|error 802|fabric state .*in progress|failed to query fabric`, causeWeight{fabric.CauseFabricManager, plain}),
		printed(`(socket\w*connect|bootstrap|net)\b.*(connect to|connection).*(refused|113|no route to host|timed out|timeout|110|111)|connect to \S+ (failed|returned).*(refused|no route|timed out|1[01][0-9])`, causeWeight{fabric.CauseFirewall, 0.6}, causeWeight{fabric.CauseRouteMissing, 0.25}, causeWeight{fabric.CauseEnvNotForwarded, 0.15}),
		printed(`selected provider is (tcp|sockets|udp)|net/ofi.*provider.*(tcp|sockets)`, causeWeight{fabric.CauseSocketFallback, plain}, causeWeight{fabric.CauseNetPlugin, 0.3}),
		printed(`net/ib ?: ?no device found|failed to open libibverbs|libibverbs\.so\S* ?: cannot open|using network socket|net/socket ?: ?using|via net/socket`, causeWeight{fabric.CauseSocketFallback, plain}),
		printed(`net/ofi.*(fail|error|abort|unable|could not)|fi_getinfo\S*.*(no data|empty|fail)|no eligible provider|provider efa output empty`, causeWeight{fabric.CauseNetPlugin, 0.6}, causeWeight{fabric.CauseSocketFallback, 0.3}),
		printed(`(net|tuner)/plugin.*(undefined symbol|incompatible|mismatch|symbol version|glibc)`, causeWeight{fabric.CauseNetPlugin, plain}, causeWeight{fabric.CauseLibraryBuild, 0.25}),
		printed(`symbol lookup error|undefined symbol: nccl|mismatched nccl version|nccl version mismatch|no kernel image is available|unsupported gpu architecture|version .?glibc\S* not found`, causeWeight{fabric.CauseLibraryBuild, plain}),
		printed(`xml parse error|xml mismatch|could not open xml|xml file.*(not|error|fail)|xml import.*(fail|error)|unsupported version.*xml|ignoring element`, causeWeight{fabric.CauseTopoXMLWrong, 0.85}),
		printed(`numa auto balancing enabled`, causeWeight{fabric.CauseNumaBalancing, 0.7}),
		printed(`missing "?iommu=pt`, causeWeight{fabric.CauseIOMMUTranslated, 0.6}),
		printed(`direct rdma (?:\(\w+\) )?disabled for hca`, causeWeight{fabric.CauseGDRDisabled, 0.6}),
		printed(`gpu direct rdma disabled.*distance|distance \d+ > \d+`, causeWeight{fabric.CauseVMTopologyMissing, 0.35}, causeWeight{fabric.CauseGPUNICMisaligned, 0.35}, causeWeight{fabric.CauseGDRDisabled, 0.2}),
		printed(`nranks 1\b`, causeWeight{fabric.CauseMPINotBuilt, plain}),
	}
}

// Messages of verbs and of work completions (ibv_wc_status of rdma-core; errno of ibv_modify_qp is what the kernel
// finds on the way to the peer's address).
func verbsMessages() []message {
	return []message{
		printed(`ibv_modify_qp.*(network is unreachable|101|ENETUNREACH)`, causeWeight{fabric.CauseRouteMissing, 0.65}, causeWeight{fabric.CauseGIDIndex, 0.3}),
		printed(`ibv_modify_qp.*(no route to host|113|EHOSTUNREACH)`, causeWeight{fabric.CauseRouteMissing, 0.55}, causeWeight{fabric.CauseARPFlux, 0.3}, causeWeight{fabric.CauseGIDIndex, 0.3}),
		printed(`(ibv_)?modify[_ ]qp.*(timed out|110|ETIMEDOUT)|rtr.*(timed out|110)`, causeWeight{fabric.CauseGIDIndex, 0.5}, causeWeight{fabric.CauseRouteMissing, 0.35}, causeWeight{fabric.CauseARPFlux, 0.25}),
		printed(`(ibv_)?modify_qp.*(invalid argument|22|EINVAL)`, causeWeight{fabric.CauseGIDIndex, 0.4}, causeWeight{fabric.CauseMTUMismatch, 0.4}),
		printed(`(ibv_)?modify_qp.*(no data available|61|no such device|19\b)`, causeWeight{fabric.CauseGIDIndex, 0.6}),
		printed(`ibv_(reg_mr|create_cq|create_qp)\w*.*(cannot allocate|can't allocate|memory|ENOMEM|12\b)|couldn.?t allocate mr|failed to create qp`, causeWeight{fabric.CauseMemlock, 0.7}),
		printed(`ibv_reg(_dmabuf)?_mr\w*.*(bad address|14\b|EFAULT|not supported|95\b|invalid argument)`, causeWeight{fabric.CauseGDRDisabled, 0.6}, causeWeight{fabric.CauseACSRedirect, 0.2}),
		printed(`(completion|status|error|wc)\D{0,40}\b(status ?= ?|error )4\b|vendor err(or)? 81\b|local protection error`, causeWeight{fabric.CauseACSRedirect, 0.5}, causeWeight{fabric.CauseGDRDisabled, 0.35}),
		printed(`(completion|status|error|wc)\D{0,40}\b(status ?= ?|error )(10|11)\b|remote (access|operation) error|vendor err(or)? 136\b`, causeWeight{fabric.CauseACSRedirect, 0.45}, causeWeight{fabric.CauseGDRDisabled, 0.3}),
		printed(`(status ?=? ?|error )12\b|retry exc|retry counter exceeded|vendor err(or)? 129\b|syndrom 0x81`, causeWeight{fabric.CauseMTUMismatch, 0.42}, causeWeight{fabric.CauseGIDIndex, 0.36}, causeWeight{fabric.CauseRoCELossy, 0.25}, causeWeight{fabric.CauseRouteMissing, 0.2}, causeWeight{fabric.CauseLinkDown, 0.15}),
		printed(`couldn.?t load driver|does not support the kernel abi|kernel abi version|no userspace device-specific driver`, causeWeight{fabric.CauseDriverABI, 0.8}),
		printed(`unknown symbol|disagrees about version of symbol|invalid module format`, causeWeight{fabric.CauseDriverConflict, 0.8}),
		printed(`mad_rpc_open_port|can.?t open umad|sminfo: iberror|iberror: failed: query`, causeWeight{fabric.CauseSubnetManager, 0.3}),
	}
}

// Messages of kernels, drivers and management tools of a host.
func hostMessages() []message {
	return []message{
		printed(`xid[^\n]{0,30}\b(74|144|145|146|147|148|149|150)\b|\bSXid\b`, causeWeight{fabric.CauseNVLinkDegraded, plain}, causeWeight{fabric.CauseFabricManager, 0.2}),
		printed(`xid[^\n]{0,30}\b(31|43|48|61|62|63|64|79|92|94|95|119|120)\b|fallen off the bus|(smi|nvidia|gpu|cuda)[^\n]*no devices were found|^no devices were found|no cuda-capable|invalid device ordinal|driver/library version mismatch|couldn.?t communicate with the nvidia driver`, causeWeight{fabric.CauseGPUDriver, 0.8}),
		printed(`cuda driver version is insufficient`, causeWeight{fabric.CauseGPUDriver, 0.55}, causeWeight{fabric.CauseLibraryBuild, 0.45}),
		printed(`link \d+ ?: ?<?inactive|nvlink[^\n]{0,40}inactive|(crc|replay|recovery)[^\n]{0,20}error[^\n]{0,30}nvlink`, causeWeight{fabric.CauseNVLinkDegraded, 0.8}),
		printed(`(hw|sw)[ _](thermal|power)?[ _]?(slowdown|cap|brake)[^\n:]{0,20}: ?active|clocks_throttle_reasons[^\n]*\bactive|clocks_event_reasons[^\n]*: ?active|prochot`, causeWeight{fabric.CauseGPUThrottled, 0.85}),
		printed(`available pcie bandwidth, limited by`, causeWeight{fabric.CausePCIeDowngraded, 0.6}, causeWeight{fabric.CausePCIeDowngradedUpstream, 0.4}),
		printed(`lnksta:[^\n]*downgraded`, causeWeight{fabric.CausePCIeDowngraded, 0.8}),
		printed(`acsctl:[^\n]*(srcvalid\+|reqredir\+|cmpltredir\+)`, causeWeight{fabric.CauseACSRedirect, 0.8}),
		printed(`atsctl:[^\n]*enable-|ats_enabled[ =:]*(false|0)`, causeWeight{fabric.CauseATSDisabled, 0.8}),
		printed(`relax order ?: ?off|rlxdord-|pci_wr_ordering[^\n]{0,20}(per_mkey|\(0\)|= ?0)`, causeWeight{fabric.CauseNICProfile, 0.5}),
		printed(`setets|dcbx?[^\n]{0,40}(fail|error|not permitted|busy)|lldp_nb_dcbx\S*[^\n]{0,20}(true|1)`, causeWeight{fabric.CauseFirmwareDCBX, 0.8}),
		printed(`numa_balancing[^\n]{0,20}\b1\b`, causeWeight{fabric.CauseNumaBalancing, plain}),
		printed(`max locked memory[^\n]*\b\d{1,6}\b|ulimit -l[^\n]{0,30}\b\d{1,6}\b|memlock[^\n]{0,30}\b\d{1,6}\b`, causeWeight{fabric.CauseMemlock, 0.8}),
	}
}

// Messages of ports: ibstat, rdma link, ethtool, opensm, counters of mlx5 and bnxt_re.
func portMessages() []message {
	return []message{
		printed(`state:? ?(4?: ?)?init(ializ\w+)?\b|sm lid:? ?(0x)?0+\b|sm_lid 0\b`, causeWeight{fabric.CauseSubnetManager, 0.8}),
		printed(`state:? ?(1: )?down\b|physical[_ ]state:? ?(polling|disabled)|no-carrier|link detected: no`, causeWeight{fabric.CauseLinkDown, plain}),
		printed(`\b(rx_discards_phy|rx_out_of_buffer|out_of_sequence|packet_seq_err|rnr_nak_retry_err|local_ack_timeout_err|implied_nak_seq_err|roce_adp_retrans|roce_slow_restart\w*|seq_err_naks?_rcvd|oos_drop_count|res_oos_drop_count|rx_discard\w*|tx_discard\w*|rx_prio\d_discards)\b[^\n]{0,24}[1-9]`, causeWeight{fabric.CauseRoCELossy, 0.7}),
		printed(`\b(symbol_error\w*|link_error_recovery|link_downed|rx_symbol_err_phy|rx_pcs_symbol_err_phy|fec_uncorrect\w*|local_link_integrity_errors|port_rcv_errors)\b[^\n]{0,24}[1-9]`, causeWeight{fabric.CauseSlowLink, 0.6}),
	}
}
