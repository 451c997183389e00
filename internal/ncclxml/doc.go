// Package ncclxml is the topology file of NCCL and RCCL (NCCL_TOPO_FILE): read by the rules of NCCL's own parser,
// recovered as far as possible where it is damaged, completed with what NCCL adds at load, and written from a machine.
// Problems of a text are reported by kind; whether they matter is decided elsewhere.
package ncclxml
