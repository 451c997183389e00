package collective

// Sockets copy each byte with the CPU. For each message NCCL's thread exchanges its size first and polls: two hosts of one
// H200 each reach 3.63 GB/s in messages of 1 MiB, 1.1 of 16 KiB, and with LL, whose messages of 64 KiB are half flags, 1.09
// (test/accuracy/testdata/planted/tables).
const (
	socketMessage = 10  // us of a message
	withinHost    = 3.5 // GB/s between GPUs of one host: 4.15 with a process for each of two H200, 3.0 with one for four
)

// socketRate is what a node sends in messages of so many bytes, GB/s, where the copies alone would reach most.
func socketRate(most, message float64) float64 {
	return message / (socketMessage + message/(1000*most)) / 1000
}

// overSockets applies the settings of sockets: a connection's threads copy at the same time (nccl, src/transport/net_socket.cc,
// ncclNetSocketGetNsockNthread; up to 16 threads). Two hosts of two H200 reach 3.9 GB/s, and 18.4 with 4 threads: each only sends, which one that also receives
// cannot do all the time.
func (n *network) overSockets(threads int, b blockSet) {
	const most, alone = 16, 1.15
	n.copies = n.most
	if threads > 0 {
		n.copies *= alone * float64(min(threads, most))
	}
	n.most = socketRate(n.copies, b.bufferOf()/fifoSlices)
	if threads > 0 { // they copy while the one that posts goes on
		n.most = min(n.copies, b.bufferOf()/fifoSlices/socketMessage/1000)
	}
}

// socketsFill is the time in which the first messages go from host to host: each is received as a whole before it is
// sent on.
func (c *Cluster) socketsFill(o *option, f function) func(float64) float64 {
	message := c.blocks.bufferOf() / fifoSlices
	if o.protocol == LL {
		message = messageLL(c.blocks.threadsOf(LL))
	}
	return pipeline(1, c.networkSteps(Ring, f)*float64(c.channels())*message, o.bulk)
}

// socketsLL is what sockets carry with LL, GB/s of data: a message is what a block sends at once, half of it flags, and 8
// lines a thread. NCCL's thread reads every flag before it sends (nccl, src/transport/net.cc, sendProxyProgress): flagsRead.
func (n network) socketsLL(threads int) float64 {
	const flags = 2
	return socketRate(n.copies/flagsRead, messageLL(threads)) / flags
}

// socketsLL128 is the same with LL128, of whose 128 bytes 120 are data and whose messages are as long as those of Simple.
func (n network) socketsLL128(message float64) float64 {
	return socketRate(n.copies/flagsRead, message) * LL128.data()
}

// flagsRead is how much longer copies take of what the thread has read before. Two hosts of one H200 each reach 3.1 GB/s with
// Simple and 1.72 with LL128.
const flagsRead = 1.5

// messageLL is what the threads of a block send with LL before they post it, bytes (nccl, src/include/device.h,
// NCCL_LL_LINES_PER_THREAD; a line has 8 bytes of data and 8 of flags).
func messageLL(threads int) float64 {
	const lines, line = 8, 16
	return float64(threads * lines * line)
}
