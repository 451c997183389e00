// Package ncclxml is the topology file of NCCL and RCCL (NCCL_TOPO_FILE): read by the rules of NCCL's own parser, made
// out as far as possible where it is damaged, completed with what NCCL adds at load, and written from a machine. What
// is wrong with a text it reports by kind; whether that matters is for others to say.
package ncclxml
