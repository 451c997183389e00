package fleet

import (
	"bytes"
	"context"
	_ "embed" // the scripts that run at the far end
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
)

// TrustKind is that of the result of Trust.
const TrustKind = "Trust"

// Trusts is how far the machines of a cluster can log in to each other.
type Trusts struct {
	fabric.Meta
	Made  string    `json:"made,omitempty"` // the key that was made here
	Nodes []Trusted `json:"nodes"`
	Pairs []Login   `json:"pairs"`
}

// Trusted is the result for a machine.
type Trusted struct {
	Node    string         `json:"node"`
	Status  fabric.Status  `json:"status"`
	Keys    []host.HostKey `json:"keys"`
	Changed []string       `json:"changed"`          // files on it
	Reason  string         `json:"reason,omitempty"` // why it is not pass
	Note    string         `json:"note,omitempty"`   // what else it lacks
}

// Login is whether one machine can log in to another without being asked.
type Login struct {
	From   string        `json:"from"`
	To     string        `json:"to"`
	Status fabric.Status `json:"status"`
	Reason string        `json:"reason,omitempty"`
}

// Status is the worst of all machines and logins.
func (t Trusts) Status() fabric.Status {
	worst := fabric.Pass
	if len(t.Nodes) == 0 {
		worst = fabric.Unknown
	}
	var all []fabric.Status
	for _, n := range t.Nodes {
		all = append(all, n.Status)
	}
	for _, p := range t.Pairs {
		all = append(all, p.Status)
	}
	for _, s := range all {
		if s == fabric.Fail {
			return s
		}
		if s != fabric.Pass {
			worst = fabric.Unknown
		}
	}
	return worst
}

// TrustOptions are what Trust asks of its caller.
type TrustOptions struct {
	// Accept shows the keys of machines that are unknown here, and reports whether a person says that they are theirs.
	Accept func(unknown []Trusted) (bool, error)
	// Asks is called before ssh asks for the password of a machine; an error says that nobody can be asked.
	Asks func(node string) error
}

// machine is one whose logins are set up.
type machine struct {
	result  Trusted
	target  host.Target
	here    bool
	names   []string // by which others call it, that of this user first
	further []string // its other addresses
	keys    []host.HostKey
	lines   []string // for known_hosts here
	public  string
	denied  string // why no key opens it
	runner  host.Runner
	close   func() error
}

// Trust makes the machines of a cluster log in to each other, and lets this user log in to each: keys where there are none,
// host keys recorded here and on each of them. Nothing that is there is removed, and a host key that changed is refused.
// addresses are further ones of each machine, such as those of the fabric.
func Trust(ctx context.Context, c *intent.Cluster, addresses map[string][]string, o TrustOptions) (Trusts, error) {
	t := Trusts{Meta: fabric.NewMeta(TrustKind), Nodes: []Trusted{}, Pairs: []Login{}}
	all, err := machines(c, addresses)
	if err != nil {
		return t, err
	}
	defer func() { leave(all) }()
	scan(ctx, all)
	if err := record(all, o); err != nil {
		return t, err
	}
	public := ""
	if i := slices.IndexFunc(all, func(m *machine) bool { return !m.here }); i >= 0 {
		if public, t.Made, err = host.OwnKey(all[i].target); err != nil {
			return t, fmt.Errorf("the key of this user: %w", err)
		}
	}
	enter(ctx, all, public, o)
	introduce(ctx, all, public)
	t.Pairs = tryPairs(ctx, all)
	for _, m := range all {
		t.Nodes = append(t.Nodes, m.result)
	}
	return t, nil
}

// fails gives a machine a reason.
func (m *machine) fails(s fabric.Status, reason string) {
	m.result.Status, m.result.Reason = s, reason
}

// good are the machines with which nothing is wrong so far.
func good(all []*machine) (list []*machine) {
	for _, m := range all {
		if m.result.Reason == "" {
			list = append(list, m)
		}
	}
	return list
}

func machines(c *intent.Cluster, addresses map[string][]string) (all []*machine, err error) {
	names, login, err := loginsOf(c)
	if err != nil {
		return nil, err
	}
	config, err := host.LoadSSHConfig("")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		m := &machine{result: Trusted{Node: name, Changed: []string{}, Keys: []host.HostKey{}}, here: name == (host.Local{}).Name()}
		if m.target, err = config.Target(name, login[name]); err != nil {
			return nil, err
		}
		m.names, m.further = []string{m.target.Address, name}, addresses[name]
		all = append(all, m)
	}
	return all, nil
}

// scan asks every machine for its keys, and compares them with those that are known here.
func scan(ctx context.Context, all []*machine) {
	dialer := &host.Dialer{}
	defer func() { _ = dialer.Close() }() // nothing was logged in to
	host.Each(all, atOnce, func(m *machine) {
		var err error
		if m.here {
			m.keys, err = host.OwnHostKeys()
		} else {
			var address string
			if m.keys, address, err = dialer.Scan(ctx, m.target); address != "" {
				m.names = append(m.names, address)
			}
		}
		m.names = append(m.names, m.further...)
		m.names = once(m.names)
		if err != nil {
			m.fails(fabric.Unknown, err.Error())
			return
		}
		if m.keys, m.lines, err = dialer.Compare(m.target, m.names, m.keys); err != nil {
			m.fails(fabric.Fail, err.Error())
		}
		m.result.Keys = m.keys
	})
}

// once keeps the first of each name.
func once(names []string) (kept []string) {
	for _, n := range names {
		if !slices.Contains(kept, n) {
			kept = append(kept, n)
		}
	}
	return kept
}

// record writes the keys into known_hosts that a person says are right. Those of this machine itself need nobody.
func record(all []*machine, o TrustOptions) error {
	var unknown []Trusted
	for _, m := range good(all) {
		if !m.here && slices.ContainsFunc(m.keys, func(k host.HostKey) bool { return !k.Known }) {
			unknown = append(unknown, m.result)
		}
	}
	if len(unknown) > 0 {
		ok, err := o.Accept(unknown)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("the host keys were not accepted: nothing was changed")
		}
	}
	files := make(map[string][]string)
	var order []string
	for _, m := range good(all) {
		file := m.target.KnownHosts[0]
		if files[file] == nil {
			order = append(order, file)
		}
		files[file] = append(files[file], m.lines...)
	}
	for _, file := range order {
		if err := host.AppendLines(file, files[file]); err != nil {
			return fmt.Errorf("known hosts: %w: nothing was changed on a machine", err)
		}
	}
	return nil
}

//go:embed install.sh
var installScript string

// enter logs in to every machine; where no key opens it, ssh asks for the password, one machine after the other.
func enter(ctx context.Context, all []*machine, public string, o TrustOptions) {
	dialer := &host.Dialer{}
	host.Each(good(all), atOnce, func(m *machine) { m.enter(ctx, dialer) })
	for _, m := range all {
		if m.denied == "" {
			continue
		}
		err := o.Asks(m.result.Node)
		if err == nil {
			err = host.AskedSSH(ctx, m.target, installScript, strings.NewReader(public+"\n"))
		}
		if err != nil {
			m.fails(fabric.Fail, m.denied+": "+err.Error())
			continue
		}
		m.result.Changed = append(m.result.Changed, "~/.ssh/authorized_keys (by its password)")
		if m.enter(ctx, dialer); m.denied != "" {
			m.fails(fabric.Fail, "the key was added there and is not accepted: "+m.denied)
		}
	}
}

// enter logs in. denied is set of a machine that refuses every key.
func (m *machine) enter(ctx context.Context, dialer *host.Dialer) {
	m.close, m.denied = nil, ""
	if m.here {
		m.runner = host.Local{}
		return
	}
	login, err := dialer.Dial(ctx, m.target)
	if _, refused := errors.AsType[*host.DeniedError](err); refused {
		m.denied = err.Error()
		return
	}
	if err != nil {
		m.fails(fabric.Unknown, err.Error())
		return
	}
	m.runner, m.close = login, login.Close
}

func leave(all []*machine) {
	for _, m := range all {
		if m.close != nil {
			_ = m.close() // what was asked is answered
		}
	}
}

//go:embed trust.sh
var trustScript string

// introduce gives each machine a key, and then all keys and host keys of the others.
func introduce(ctx context.Context, all []*machine, public string) {
	host.Each(good(all), atOnce, func(m *machine) { m.run(ctx, nil) })
	var lines []string
	if public != "" {
		lines = append(lines, "key "+public)
	}
	for _, m := range good(all) {
		lines = append(lines, "key "+m.public)
		for _, k := range m.keys {
			lines = append(lines, "host "+strings.Join(m.hostNames(), ",")+" "+k.Text())
		}
	}
	host.Each(good(all), atOnce, func(m *machine) { m.run(ctx, lines) })
	for _, m := range good(all) {
		m.result.Status = fabric.Pass
		if _, err := host.AsRoot(ctx, m.runner); err != nil {
			m.result.Note = err.Error()
		}
	}
}

// hostNames are the names as known_hosts has them.
func (m *machine) hostNames() (names []string) {
	for _, n := range m.names {
		if m.target.Port != 0 && m.target.Port != 22 {
			n = fmt.Sprintf("[%s]:%d", n, m.target.Port)
		}
		names = append(names, n)
	}
	return names
}

// run runs the script with these lines.
func (m *machine) run(ctx context.Context, lines []string) {
	ctx, cancel := context.WithTimeoutCause(ctx, askWithin, &host.NoAnswerError{Within: askWithin})
	defer cancel()
	in := strings.NewReader(strings.Join(append(slices.Clone(lines), ""), "\n"))
	out, err := host.Output(ctx, m.runner, host.Command{Argv: []string{"sh", "-c", trustScript}, Stdin: in, Budget: host.NewBudget(0)})
	if err != nil {
		text := err.Error()
		if exit, ok := errors.AsType[*host.ExitError](err); ok {
			text = exit.Stderr
		}
		m.fails(fabric.Fail, "its keys could not be set up, and files that were there are as before: "+text)
		return
	}
	for line := range bytes.Lines(out) {
		word, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		switch word {
		case "public":
			m.public = rest
		case "changed":
			m.result.Changed = append(m.result.Changed, rest)
		case "refused":
			name, rest, _ := strings.Cut(rest, " ")
			kind, file, _ := strings.Cut(rest, " ")
			m.fails(fabric.Fail, fmt.Sprintf("it knows %s by another %s key than the one that was seen from here: either one is wrong, or the host was reinstalled; "+
				"verify, then on %s: ssh-keygen -f %s -R %s", name, kind, m.result.Node, fabric.ShellWord(file), fabric.ShellWord(name)))
			return
		}
	}
	if m.public == "" {
		m.fails(fabric.Unknown, "its answer has no key")
	}
}

// tryPairs lets each machine log in to each other one, without a question.
func tryPairs(ctx context.Context, all []*machine) []Login {
	ready := good(all)
	pairs := []Login{}
	type job struct {
		from, to *machine
		at       int
	}
	var jobs []job
	for _, from := range ready {
		for _, to := range ready {
			if from != to {
				jobs = append(jobs, job{from, to, len(pairs)})
				pairs = append(pairs, Login{From: from.result.Node, To: to.result.Node})
			}
		}
	}
	host.Each(jobs, atOnce, func(j job) {
		pairs[j.at].Status, pairs[j.at].Reason = j.from.reaches(ctx, j.to)
	})
	return pairs
}

// reaches tries the names of a machine in turn: not every one is resolved everywhere.
func (m *machine) reaches(ctx context.Context, to *machine) (fabric.Status, string) {
	var said []string
	for _, name := range to.names {
		argv := []string{"ssh", "-n", "-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=3"}
		if to.target.Port != 0 {
			argv = append(argv, "-p", fmt.Sprint(to.target.Port))
		}
		if user := to.target.User; user != "" {
			argv = append(argv, "-l", user)
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := host.Output(ctx, m.runner, host.Command{Argv: append(argv, "--", name, "true"), Budget: host.NewBudget(0)})
		cancel()
		if err == nil {
			return fabric.Pass, ""
		}
		text := err.Error()
		if exit, ok := errors.AsType[*host.ExitError](err); ok {
			text = exit.Stderr
		}
		said = append(said, name+": "+text)
	}
	return fabric.Fail, strings.Join(said, "; ")
}
