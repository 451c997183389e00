// Package switchtext has what the languages of switches have in common: the texts that they take and give, the lines of a
// command line interface, the queues that a plan's traffic needs, and the headroom that physics asks for.
package switchtext

// Text is a text of a switch.
type Text struct {
	File  string // its name, for people
	Bytes []byte
}

// Config is the rendered configuration of one switch.
type Config struct {
	Path      string // on the switch
	Extension string // of a file with it, such as .json
	Text      []byte
	Omits     []string // what the switch also needs and the plan does not contain
}

// QoSName is the name of every rendered map and profile.
const QoSName = "RAILWRIGHT"

// NoBalancing is what a language without flowlets in what is rendered leaves out on a switch with uplinks.
const NoBalancing = "load balancing over uplinks: the switch's own hash; RoCE has few flows, and flowlets or adaptive routing, where the switch has them, spread them better"
