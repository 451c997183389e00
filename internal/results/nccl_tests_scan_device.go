package results

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// scanDevice is a line of the banner of which pieces were seen.
type scanDevice struct {
	rank, group, pid, host, device, bus, name string
}

var (
	devicePiece = pattern.New(`^#?\s*(?:Rank(?: +\d+)?|(?:Rank +)?\d+ +Group.*|\d+ +Pid.*|(?:\d+ +)?on +\S+ +device.*|\d+ +on|\S+ +device(?: +\d+ +\[.*)?|\d+ +\[[0-9a-fx:.]+\].*)$`)
	pieceRank   = pattern.New(`(\d+) +Group`)
	pieceGroup  = pattern.New(`(\d+) +Pid`)
	piecePID    = pattern.New(`(\d+) +on\b`)
	pieceHost   = pattern.New(`(\S+) +device`)
	pieceBus    = pattern.New(`(\d+) +\[([0-9a-fx:.]+)\] *(.*)`)
)

// device takes a piece of a line of the banner. A piece of which there is one already begins the next rank.
func (s *scan) device(text string, t *ncclTable, b *budget) bool {
	if !devicePiece().MatchString(text) || t.bannerText == "" {
		return false
	}
	p := &s.piece
	parts := []struct {
		into *string
		find *pattern.Regexp
	}{{&p.rank, pieceRank()}, {&p.group, pieceGroup()}, {&p.pid, piecePID()}, {&p.host, pieceHost()}, {&p.bus, pieceBus()}}
	for _, part := range parts {
		if *part.into != "" && part.find.MatchString(text) {
			if b.device() {
				p.emit(t)
			}
			break
		}
	}
	for _, part := range parts[:4] {
		if m := part.find.FindStringSubmatch(text); m != nil {
			*part.into = keepUpTo(m[1], maxName)
		}
	}
	if m := pieceBus().FindStringSubmatch(text); m != nil {
		p.device, p.bus, p.name = keepUpTo(m[1], maxName), keepUpTo(m[2], maxName), keepUpTo(m[3], maxName)
	}
	return true
}

func (p *scanDevice) emit(t *ncclTable) {
	if p.rank != "" {
		t.addDevice(fabric.RankDevice{Rank: small(p.rank), PID: small(p.pid), Host: p.host, Device: small(p.device), Bus: p.bus, Name: p.name})
	}
	*p = scanDevice{}
}
