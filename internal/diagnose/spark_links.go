package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// noteLinks finds a twin whose PCIe link trained narrower than its four lanes, by what the kernel says of it at its start.
func (o *observer) noteLinks(n *fabric.Notes) {
	for _, f := range factsOf(n, "narrow") {
		if w := strings.Fields(f.Value); len(w) == 3 {
			why := fmt.Sprintf("%s runs on a link of %s, %s Gb/s, instead of x4: it carries about half, and so does a collective over both twins", w[0], w[2], w[1])
			o.s.showText("a twin on a narrow link", noteSource(f.Line), why, fabric.Subject{})
			o.misset(why)
			return
		}
	}
}

// noteCrossed finds a run of perftest between two twins that no cable joins directly: the first twin of one machine with the
// second of another. It runs only where both are in one subnet.
func (o *observer) noteCrossed(n *fabric.Notes) {
	of := map[string]string{} // the device of an address
	for _, f := range factsOf(n, "address") {
		if device, address, ok := strings.Cut(f.Value, " "); ok {
			of[address] = device
		}
	}
	runs := perftestEnds(n)
	for _, r := range runs {
		of[r.local] = r.device
	}
	for _, r := range runs {
		_, mine, ok := twinOf(r.device)
		_, theirs, known := twinOf(of[r.remote])
		if ok && known && mine != theirs {
			why := fmt.Sprintf("%s at %s talks to %s at %s: a first twin with a second one, which only works because both are in one subnet", r.device, r.local, of[r.remote], r.remote)
			o.s.showText("twins crossed", noteSource(r.line), why, fabric.Subject{})
			o.note("twins", why)
			return
		}
	}
}

// perftestRun is a run of perftest with the addresses of its ends.
type perftestRun struct {
	device, local, remote string
	line                  int
}

// perftestEnds are the runs of a text: each names its device, then its own address and that of the other end.
func perftestEnds(n *fabric.Notes) []perftestRun {
	var out []perftestRun
	var r perftestRun
	for _, f := range factsOf(n, "device", "end") {
		switch {
		case f.What == "device":
			r = perftestRun{device: f.Value, line: f.Line}
		case r.local == "":
			r.local = dotted(f.Value)
		default:
			r.remote = dotted(f.Value)
			out, r = append(out, r), perftestRun{}
		}
	}
	return out
}

// dotted makes an address of the bytes of a GID, which perftest prints with two digits at least.
func dotted(bytes string) string {
	parts := strings.Fields(bytes)
	for i, p := range parts {
		if v, err := strconv.Atoi(p); err == nil {
			parts[i] = strconv.Itoa(v)
		}
	}
	return strings.Join(parts, ".")
}
