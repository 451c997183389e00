package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/nic"
)

const (
	// nicRunTime is for one command: niccli takes about a second, since it looks for all cards each time.
	nicRunTime = 5 * time.Second
	// nicToolsTime is for all commands about NICs together: 8 NICs with seven options each.
	nicToolsTime = 90 * time.Second
)

// readNICSettings reads what the NICs with an RDMA device do with traffic classes, and the options stored in them: files of
// the drivers first, then the vendors' tools, then those of the kernel.
func readNICSettings(ctx context.Context, h host.Host, f *fabric.Facts) {
	readNICFile(h, f)
	ctx, cancel := context.WithTimeout(ctx, nicToolsTime)
	defer cancel()
	s := &settingsReader{h: h, f: f, m: newMerger(f), nics: roceNICs(f), failed: map[string]string{}}
	if len(s.nics) == 0 {
		return
	}
	for _, n := range s.nics {
		s.files(n)
	}
	for _, r := range nic.Readers() {
		s.ask(ctx, r)
	}
	s.note()
}

// overInfiniBand is the length of the link-layer address of an interface over InfiniBand as text: 20 bytes (RFC 4391, 9.1.1).
const overInfiniBand = 20*3 - 1

// roceNICs are the Ethernet interfaces of RDMA devices. What their ports say of the link layer does not matter: it may be
// what is wrong.
func roceNICs(f *fabric.Facts) []fabric.NIC {
	var out []fabric.NIC
	for _, n := range f.NICs {
		if rdmaOf(f, n) != nil && len(n.MAC) != overInfiniBand && !strings.HasPrefix(n.Name, "-") {
			out = append(out, n)
		}
	}
	return out
}

// rdmaOf finds the RDMA device on the function of an interface.
func rdmaOf(f *fabric.Facts, n fabric.NIC) *fabric.HCA {
	for i := range f.HCAs {
		if n.PCI != "" && f.HCAs[i].PCI == n.PCI {
			return &f.HCAs[i]
		}
	}
	return nil
}

// settingsReader gathers what could be read, and why the rest could not.
type settingsReader struct {
	h      host.Host
	f      *fabric.Facts
	m      *merger
	nics   []fabric.NIC
	lost   []lostSetting
	failed map[string]string // programs that cannot be run at all, with the reason
}

// lostSetting is what one source did not give of one NIC.
type lostSetting struct{ what, nic, source, reason string }

// ask runs a reader's commands about each NIC. A program that is not there, or does not answer, is not asked again.
func (s *settingsReader) ask(ctx context.Context, r nic.Reader) {
	if r.Runs == nil {
		return
	}
	asked := map[string]bool{}
	for _, n := range s.nics {
		for _, run := range r.Runs(n) {
			line := strings.Join(run.Argv, " ")
			what := fabric.FactNICQoS
			if run.Option != "" {
				what = fabric.FactNICOptions
			}
			switch reason, out := s.failed[run.Argv[0]]; {
			case out:
				s.lose(what, n.Name, r.Name, reason)
			case !run.Once || !asked[line]:
				asked[line] = true
				s.run(ctx, r, n, run, what)
			}
		}
	}
}

func (s *settingsReader) run(ctx context.Context, r nic.Reader, n fabric.NIC, run nic.Run, what string) {
	ctx, cancel := context.WithTimeout(ctx, nicRunTime)
	defer cancel()
	text, err := runTool(ctx, s.h, run.Argv)
	exit, ended := errors.AsType[*host.ExitError](err)
	switch {
	case err == nil || ended && len(text) > 0:
	case ended:
		s.lose(what, n.Name, r.Name, exit.Error())
		return
	default:
		reason := settingsReason(err)
		if !errors.Is(err, host.ErrNotRecorded) {
			s.failed[run.Argv[0]] = reason
		}
		s.lose(what, n.Name, r.Name, reason)
		return
	}
	device := n.Name
	if run.Once {
		device = ""
	}
	parts, readErr := readSettings(s.f, r, "$ "+strings.Join(run.Argv, " ")+"\n"+string(text), device)
	if readErr == nil {
		s.m.merge(tool{name: r.Name}, parts)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		readErr = errors.Join(readErr, errors.New("its output is cut: the last line has no end"))
	}
	if err := errors.Join(readErr, err); err != nil {
		s.lose(what, n.Name, r.Name, fabric.Printable(err.Error()))
	}
}

// settingsReason is the reason that a program was not run, the same for every NIC.
func settingsReason(err error) string {
	for _, one := range []error{host.ErrNoProgram, host.ErrNotRecorded, host.ErrNotSupported, context.DeadlineExceeded} {
		if errors.Is(err, one) {
			return one.Error()
		}
	}
	return fabric.Printable(err.Error())
}

func (s *settingsReader) lose(what, nic, source, reason string) {
	if l := (lostSetting{what, nic, source, reason}); !slices.Contains(s.lost, l) {
		s.lost = append(s.lost, l)
	}
}

// note writes what was lost: once where it is of every NIC, else by NIC.
func (s *settingsReader) note() {
	count := map[lostSetting]int{}
	for _, l := range s.lost {
		l.nic = ""
		count[l]++
	}
	for _, l := range s.lost {
		all := l
		all.nic = ""
		what := l.what
		if n := count[all]; n < len(s.nics) {
			what += " " + l.nic
		}
		m := fabric.Missing{What: what, Source: l.source, Reason: l.reason}
		if !slices.Contains(s.f.Missing, m) {
			s.f.Missing = append(s.f.Missing, m)
		}
	}
}

// settingsTools are the readers as tools for captured texts; they are run by readNICSettings.
func settingsTools(f *fabric.Facts) []tool {
	var out []tool
	for _, r := range nic.Readers() {
		out = append(out, tool{
			name: r.Name, gives: settingsGiven(r),
			knows: func(text string) bool { return hasLine(text, r.Begins) },
			parse: func(text, device string) (fabric.Facts, error) { return readSettings(f, r, text, device) },
		})
	}
	return append(out, tool{name: nic.BnxtReConf, gives: []string{fabric.FactNICFile}, knows: func(text string) bool { return hasLine(text, nic.IsBnxtReConf) }, parse: parseNICFile})
}

// settingsGiven are the facts that a reader is the one to ask about.
func settingsGiven(r nic.Reader) []string {
	if r.Options {
		return []string{fabric.FactNICOptions}
	}
	return []string{fabric.FactNICQoS}
}

// readSettings turns what a reader gives into parts by interface. A NIC that is named by something else is found in the
// facts; one that is not found is missing, with what the text calls it.
func readSettings(f *fabric.Facts, r nic.Reader, text, device string) (fabric.Facts, error) {
	readings, err := r.Read(text, device)
	if err != nil {
		return fabric.Facts{}, err
	}
	if len(readings) > maxDevices {
		return fabric.Facts{}, fmt.Errorf("lists %d devices, more than %d", len(readings), maxDevices)
	}
	var parts fabric.Facts
	known := newNICNames(f)
	for _, one := range readings {
		name, called := known.find(one)
		if name == "" {
			miss(&parts, fabric.FactNICQoS+" "+called, r.Name, errors.New("which interface that is was not seen"))
			continue
		}
		n := fabric.NIC{Name: name, Options: one.Options}
		if q := one.QoS; !emptyQoS(q) {
			q.Sources = []string{r.Name}
			n.QoS = &q
		}
		parts.NICs = append(parts.NICs, n)
	}
	return parts, nil
}

// nicNames finds interfaces by what tools call them.
type nicNames struct {
	f             *fabric.Facts
	byPCI, byMAC  map[string]string
	parent, byHCA map[string]string
}

func newNICNames(f *fabric.Facts) nicNames {
	k := nicNames{f: f, byPCI: map[string]string{}, byMAC: map[string]string{}, parent: map[string]string{}, byHCA: map[string]string{}}
	for _, n := range f.NICs {
		if n.PCI != "" {
			k.byPCI[n.PCI] = n.Name
		}
		if n.MAC != "" && n.Kind == "" {
			k.byMAC[n.MAC] = n.Name
		}
	}
	for _, d := range f.PCI {
		k.parent[d.Address] = d.Parent
	}
	for _, h := range f.HCAs {
		if h.PCI != "" {
			k.byHCA[h.Name] = k.byPCI[h.PCI]
		}
		for _, p := range h.Ports {
			for _, g := range p.GIDs {
				if g.NetDev != "" && k.byHCA[h.Name] == "" {
					k.byHCA[h.Name] = g.NetDev
				}
			}
		}
	}
	return k
}

// find returns the interface of a reading, empty where none is known, and what the text calls it.
func (k nicNames) find(r nic.Reading) (name, called string) {
	switch {
	case r.Interface != "":
		return r.Interface, r.Interface
	case r.PCI != "":
		return k.byPCI[r.PCI], r.PCI
	case r.MAC != "":
		return k.byMAC[r.MAC], r.MAC
	case r.RDMA != "":
		return k.byHCA[r.RDMA], r.RDMA
	}
	var below []string
	for address, nic := range k.byPCI {
		for at, steps := address, 0; at != "" && steps < 64; at, steps = k.parent[at], steps+1 {
			if at == r.Card {
				below = append(below, nic)
			}
		}
	}
	if len(below) == 1 {
		return below[0], r.Card
	}
	return "", r.Card
}

func emptyQoS(q fabric.QoS) bool {
	return q.Trust == "" && len(q.DSCP) == 0 && q.PFC == nil && q.Queues == nil && q.Schedulers == nil && q.RoCE == nil && q.CNP == nil && q.ECN == nil && q.DCBX == "" && q.Pause == nil
}
