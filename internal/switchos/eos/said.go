package eos

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// eosSaid is what the texts of a switch say, before profiles, maps and defaults are put together.
type eosSaid struct {
	texts    []fabric.SwitchText
	hostname *fabric.Said[string]

	ports      map[string]*portSaid
	inOrder    []*portSaid
	profiles   map[string]*eosScope
	ifProfiles map[string][]switchtext.CLILine // commands of interface profiles, by name
	profiled   map[fabric.Line]bool            // lines of them: what an interface says itself counts before
	named      []*eosScope                     // profiles, in order
	policies   map[string]*eosPolicy
	polOrder   []*eosPolicy
	classes    map[string]*eosClassMap

	dscpTC      [64]*fabric.Said[int]
	cosTC       [8]*fabric.Said[int]
	tcQueue     [8]*fabric.Said[int]
	tcDSCP      [8]*fabric.Said[int]
	rewrite     *fabric.Said[bool]
	pfcOff      *fabric.Said[bool] // priority-flow-control all off
	wd          watchdogSaid
	vlans       map[int]*fabric.VLANConfig
	vlanOrder   []int
	vlanDefined map[int]bool // by vlan, not by its interface alone
	svi         map[int]bool // VLANs with an interface of the switch
	defaults    eosDefaults
	bgp         *fabric.BGPConfig
	shut        map[netip.Addr]fabric.Line // neighbours that are switched off
	groupAS     map[string]uint32          // of peer groups
	members     []member
	routing     *fabric.Said[bool]
	connected   *fabric.Said[string] // route map through which connected networks are announced
	prefixLists map[string][]prefixRule
	routeMaps   map[string][]*routeTerm
	whole       bool

	problems []fabric.TextProblem
	unread   []fabric.Line
}

// eosDefaults is what the text says of interfaces that do not say it themselves.
type eosDefaults struct {
	routed, up *fabric.Said[bool]
	mtu        *fabric.Said[int]
}

// watchdogSaid is what a text says of the PFC watchdog, for all ports or for one.
type watchdogSaid struct {
	on      *fabric.Said[bool]
	action  *fabric.Said[string]
	detect  *fabric.Said[int]
	restore *fabric.Said[int]
	forced  bool // its timers count although the switch's own are longer
}

// eosScope is what an interface and a profile can both say.
type eosScope struct {
	name   string
	at     fabric.Line
	used   bool
	trust  *fabric.Said[string]
	cos    *fabric.Said[int] // of packets without a tag, or that are not trusted
	pfc    *fabric.Said[bool]
	noDrop [8]*fabric.Said[bool]
	wd     watchdogSaid
	policy *fabric.Said[string]
	queues [8]*queueSaid
}

// queueSaid is what is said of a transmit queue.
type queueSaid struct {
	strict     *fabric.Said[bool]
	percent    *fabric.Said[int]
	guaranteed *fabric.Said[string]
	ecn, drop  *fabric.QueueProfile
}

// portSaid is an interface.
type portSaid struct {
	eosScope
	configured bool // a configuration speaks of it: what it does not say has EOS's default
	up         *fabric.Said[bool]
	mtu        *fabric.Said[int]
	rate       *fabric.Said[float64]
	fec        *fabric.Said[string]
	routed     *fabric.Said[bool]
	mode       *fabric.Said[string] // access, trunk
	access     *fabric.Said[int]
	native     *fabric.Said[int]
	tagged     bool // packets without a tag are dropped
	addresses  []fabric.Said[netip.Prefix]
	profile    *fabric.Said[string]
	linkPause  *fabric.Said[bool] // flow control of the whole link is on
	channel    string             // Port-Channel that it is a member of
	shown      eosShown
}

// eosShown is what show commands say of a port: it counts where the configuration says nothing.
type eosShown struct {
	vlan   *fabric.Said[int]
	pfc    *fabric.Said[[]int]
	trust  *fabric.Said[string]
	queues [8]*fabric.QueueConfig
	wd     *fabric.WatchdogConfig
}

// eosPolicy is a policy-map of type quality-of-service.
type eosPolicy struct {
	name    string
	at      fabric.Line
	used    bool
	classes []*eosPolicyClass
}

type eosPolicyClass struct {
	name     string
	at       fabric.Line
	tc, dscp *fabric.Said[int]
}

// eosClassMap is a class-map: what it matches, where that is said in DSCP or 802.1p.
type eosClassMap struct {
	name  string
	at    fabric.Line
	dscp  map[int]bool
	cos   map[int]bool
	other bool // it matches something else, such as an access list: what it takes is unknown
}

func newEOSSaid() *eosSaid {
	return &eosSaid{
		ports: map[string]*portSaid{}, ifProfiles: map[string][]switchtext.CLILine{}, profiled: map[fabric.Line]bool{}, profiles: map[string]*eosScope{}, policies: map[string]*eosPolicy{},
		classes: map[string]*eosClassMap{}, vlans: map[int]*fabric.VLANConfig{}, groupAS: map[string]uint32{}, shut: map[netip.Addr]fabric.Line{}, prefixLists: map[string][]prefixRule{}, routeMaps: map[string][]*routeTerm{}, vlanDefined: map[int]bool{}, svi: map[int]bool{},
	}
}

func (s *eosSaid) port(name string, at fabric.Line) *portSaid {
	p := s.ports[name]
	if p == nil {
		p = &portSaid{eosScope: eosScope{name: name, at: at}}
		s.ports[name] = p
		s.inOrder = append(s.inOrder, p)
	}
	return p
}

func (s *eosSaid) problem(kind, port string, at fabric.Line, what, then string) {
	s.problems = append(s.problems, fabric.TextProblem{Kind: kind, Port: port, At: at, What: what, Then: then})
}

// eosSay puts a value in its place, and names it where the text said another one before: the last one counts.
func eosSay[T comparable](s *eosSaid, place **fabric.Said[T], is T, at fabric.Line) {
	if old := *place; old != nil && old.Is != is && old.At.Number > 0 && !s.profiled[old.At] && !s.toldOf(at) {
		s.problem(fabric.TextDuplicate, "", at, "says again what line \""+old.At.Text+"\" said, with another value", "The last one counts.")
	}
	*place = &fabric.Said[T]{Is: is, At: at}
}

func (s *eosScope) queue(n int) *queueSaid {
	if s.queues[n] == nil {
		s.queues[n] = &queueSaid{}
	}
	return s.queues[n]
}

// toldOf reports whether the last problem is of the same line: a range of ports has it once.
func (s *eosSaid) toldOf(at fabric.Line) bool {
	n := len(s.problems)
	return n > 0 && s.problems[n-1].At == at
}
