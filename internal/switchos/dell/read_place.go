package dell

// dellKind is what a place in the text is in.
type dellKind int

const (
	top dellKind = iota
	inPort
	inVLAN
	inMap
	inWRED
	inSched
	inBGP
	inOther // a block without bearing
	inLost  // a block of an interface whose name is a placeholder
	inShow  // output of a show command that is not read
	inShowPort
	inClick // output of a command of the shell below
)

// place is where in the text a line stands: in which block.
type place struct {
	kind                 dellKind
	head                 int  // blanks before its first line
	member               int  // blanks before the second line, 0 where it is not there yet
	shown                bool // it is output of a show command
	ports                []*dellPort
	vlans                []int
	dmap                 *dellMap
	wred                 *wred
	sched                *dellSched
	table                int    // of a shell: 1 for PFC, 2 for the watchdog
	queue                int    // of a scheduler policy or of a shown port; -1: none, 8: one that is no queue of a port
	peer                 string // neighbour or peer group of BGP
	isGroup              bool
	family               string // address family of BGP; unknown: one that does not exist
	peerHead, familyHead int    // blanks before the lines that opened the neighbour and the family
	byPrompt             bool   // no command entered it
	foreign              bool   // BGP of a VRF
}
