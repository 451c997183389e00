package facts

import (
	"fmt"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// errorCounters are the error counters of a port, by folder: counters/ has those of the
// InfiniBand specification (17.2.7, 16.1.3.5), hw_counters/ what a driver counts beside them (mlx5, bnxt_re,
// irdma name theirs differently).
func errorCounters() []counterFolder {
	return []counterFolder{
		{"counters", []string{
			"VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery",
			"local_link_integrity_errors", "port_rcv_constraint_errors", "port_rcv_errors", "port_rcv_remote_physical_errors",
			"port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_discards", "symbol_error",
		}},
		{"hw_counters", []string{
			"duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "np_cnp_sent", "np_ecn_marked_roce_packets",
			"out_of_buffer", "out_of_sequence", "packet_seq_err", "req_cqe_error", "req_cqe_flush_error",
			"req_remote_access_errors", "req_remote_invalid_request", "req_transport_retries_exceeded", "resp_cqe_error",
			"resp_local_length_error", "resp_remote_access_errors", "rnr_nak_retry_err", "roce_adp_retrans",
			"roce_adp_retrans_to", "roce_slow_restart", "roce_slow_restart_cnps", "rp_cnp_handled", "rp_cnp_ignored",
			"rx_icrc_encapsulated",
			// bnxt_re
			"max_retry_exceeded", "missing_resp", "oos_drop_count", "rnr_naks_rcvd", "rx_cnp_pkts", "rx_ecn_marked_pkts",
			"seq_err_naks_rcvd", "to_retransmits", "tx_cnp_pkts",
			// irdma
			"RxECNMrkd", "cnpHandled", "cnpIgnored", "cnpSent",
		}},
	}
}

type counterFolder struct {
	name   string
	wanted []string
}

// readErrorCounters returns those above 0, and fabric.LinkCounters in any case: of the others an absent one is 0, unless
// Missing says that it or its folder could not be read. A driver that has no such folder counts nothing.
func readErrorCounters(r *fileReader) map[string]uint64 {
	var counters map[string]uint64
	always := fabric.LinkCounters()
	for _, folder := range errorCounters() {
		names, err := r.h.ReadDir(r.folder + "/" + folder.name)
		if err != nil && !host.IsAbsent(err) {
			r.miss(fabric.FactPortCounters, folder.name, err)
			continue
		}
		for _, name := range names {
			if !slices.Contains(folder.wanted, name) {
				continue
			}
			n, err := readCounter(r, folder.name+"/"+name)
			if err != nil {
				r.miss(fabric.FactPortCounters+"."+name, folder.name+"/"+name, err)
				continue
			}
			if n == 0 && !slices.Contains(always, name) {
				continue
			}
			if counters == nil {
				counters = make(map[string]uint64)
			}
			counters[name] = n
		}
	}
	return counters
}

func readCounter(r *fileReader, file string) (uint64, error) {
	text, err := host.ReadString(r.h, r.folder+"/"+file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid count %q", fabric.Printable(text))
	}
	return n, nil
}
