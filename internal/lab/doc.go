// Package lab builds a cluster out of network namespaces: hosts and a leaf whose interfaces, addresses,
// routes, sysctls and neighbours are the kernel's own, and faults that can be planted in it.
//
// One process, the keeper, is the first of a process id namespace; every host, every daemon in a host
// and every command run there is its descendant. When it ends, the kernel ends them all and with them
// the interfaces, so that nothing is left behind however a run ends.
package lab
