// Package topology models what connects the GPUs and NICs of a host: a machine's devices from facts, from the catalog or
// from the output of a tool, PCIe paths and their slowest link, distances, and which GPU uses which NIC; on a host and
// in a virtual machine on it.
package topology
