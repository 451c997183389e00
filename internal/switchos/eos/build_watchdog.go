package eos

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// watchdog merges what a port, its profile and the switch say of the PFC watchdog.
func (b *build) watchdog(p *portSaid, sc *eosScope, known bool) *fabric.WatchdogConfig {
	if !p.configured {
		return p.shown.wd
	}
	if p.shown.wd != nil && sc.wd.on == nil && b.wd.on == nil && !b.whole {
		return p.shown.wd
	}
	w := &fabric.WatchdogConfig{On: sc.wd.on, Action: sc.wd.action, DetectMs: sc.wd.detect, RestoreMs: sc.wd.restore}
	first(&w.On, b.wd.on)
	first(&w.Action, b.wd.action)
	first(&w.DetectMs, b.wd.detect)
	first(&w.RestoreMs, b.wd.restore)
	if known {
		first(&w.On, &fabric.Said[bool]{At: noWatchdog})
	}
	if w.On != nil && w.On.Is {
		first(&w.Action, &fabric.Said[string]{Is: "errdisable", At: errdisable})
	}
	return w
}

// inertWatchdog says where the watchdog is on and looks at nothing: it watches queues with guaranteed bandwidth.
func (b *build) inertWatchdog(p *portSaid, sc *eosScope, c *fabric.PortConfig, noDrop [8]*fabric.Said[bool]) {
	if !p.configured || c.PFC == nil || c.Watchdog == nil || c.Watchdog.On == nil || !c.Watchdog.On.Is {
		return
	}
	for _, i := range c.PFC.Is {
		if noDrop[i] == nil || b.queueOf[i] == nil {
			continue
		}
		q := b.queueOf[i].Is
		if sc.queues[q] == nil || sc.queues[q].guaranteed == nil {
			b.tell(fabric.TextInert, p.name, c.Watchdog.On.At, "the PFC watchdog is on, and queue "+strconv.Itoa(q)+" of priority "+strconv.Itoa(i)+" has no guaranteed bandwidth ("+strings.TrimSpace(noDrop[i].At.Text)+")",
				"The watchdog looks only at queues with `bandwidth guaranteed`: it never acts on this one (User Manual, DCBX and Flow Control).")
		}
	}
}
