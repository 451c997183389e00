// Package lossless proves that a RoCE network drops no RoCE packet for want of buffers, as its NICs and switches are
// configured; or it refutes that with a packet, and the line of configuration that decided at each hop.
//
// Packets of every DSCP are followed from every NIC to every other by the shortest paths through the cables. At each hop the
// ingress port's table says class, queue and priority of pauses; the sender at the far end of the cable has to obey that pause
// for the queue in which it holds the packet; the egress port's queue marks, or is strict, and its rewrite table gives the DSCP
// for the next hop. Ports that treat packets alike are one class, and what arrives by a cable is one set of packets, so that
// the work grows with the number of ports and not with the number of paths.
//
// What is unknown is never proved: it is listed as unknown with its place.
package lossless

// NotProved is what a proof of this package leaves open, and every judgement of a text, for reports.
const NotProved = "What is judged is what texts say: what the hardware does with them, and whether its buffers and headroom suffice, is not proved by it."
