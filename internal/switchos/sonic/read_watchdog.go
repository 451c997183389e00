package sonic

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// watchdogs gives each port its PFC watchdog: a row in PFC_WD starts it, and pfcwd_sw_enable says for which priorities. Without
// one of the two it does not run (sonic-swss, orchagent/pfcwdorch.cpp, registerInWdDb). SONiC until 2021, whose references
// have brackets, had no pfcwd_sw_enable and took pfc_enable.
func (r *reader) watchdogs() {
	poll := r.small(r.db.row("PFC_WD", "GLOBAL").get("POLL_INTERVAL"), "", 100, 1000)
	if f := r.db.row("PFC_WD", "GLOBAL").get("BIG_RED_SWITCH"); sonicIs(f, "enable") {
		r.problem(fabric.TextConflict, "", f.at, "BIG_RED_SWITCH is on", "every queue with PFC drops its packets, and the watchdog is off")
	}
	byPort := make(map[string]*sonicRow)
	for _, row := range r.db.rowsOf("PFC_WD") {
		for _, port := range portsIn(row.key) {
			byPort[port] = row
		}
	}
	for _, p := range r.ports {
		q := r.bindings[p.Name]
		if q == nil && r.db.complete("PORT_QOS_MAP") {
			q = &qosRow{watched: byDefault([]int{}, "the port has no row in PORT_QOS_MAP")}
		}
		w := &fabric.WatchdogConfig{}
		if q != nil {
			w.Priorities = q.watched
			if r.db.oldRefs && q.row != nil && q.row.get("pfcwd_sw_enable") == nil {
				w.Priorities = q.pfc
			}
		}
		row := byPort[p.Name]
		if row != nil {
			r.watchdog(w, row, p.Name, poll)
		}
		w.On = r.watches(w, row)
		if *w != (fabric.WatchdogConfig{}) {
			p.Watchdog = w
		}
	}
}

// watches reports whether a watchdog runs; nil: the texts do not say it.
func (r *reader) watches(w *fabric.WatchdogConfig, row *sonicRow) *fabric.Said[bool] {
	switch {
	case w.Priorities != nil && len(w.Priorities.Is) == 0:
		return said(false, w.Priorities.At)
	case row != nil && (w.DetectMs == nil && row.closed || w.Action == nil):
		return said(false, row.at) // refused
	case row != nil:
		return said(true, row.at)
	}
	f := r.db.row("DEVICE_METADATA", "localhost").get("default_pfcwd_status")
	switch t := r.db.tables["PFC_WD"]; {
	case t != nil && t.closed, r.db.whole && !sonicIs(f, "enable"), sonicIs(f, "disable"):
		return byDefault(false, "a port without a row in PFC_WD has no watchdog (sonic-swss, orchagent/pfcwdorch.cpp)")
	}
	return nil
}

// watchdog reads a row of PFC_WD. Bounds and the default of the action are those of orchagent/pfcwdorch.cpp.
func (r *reader) watchdog(w *fabric.WatchdogConfig, row *sonicRow, port string, poll *fabric.Said[int]) {
	w.DetectMs = r.small(row.get("detection_time"), port, 100, 5000)
	w.RestoreMs = r.small(row.get("restoration_time"), port, 100, 60000)
	switch f := row.get("action"); {
	case f == nil:
		w.Action = byDefault("drop", "drop (sonic-swss, orchagent/pfcwdorch.cpp, createEntry)")
	case f.value == "drop" || f.value == "forward" || f.value == "alert":
		w.Action = said(f.value, f.at)
	default:
		r.problem(fabric.TextForeign, port, f.at, fmt.Sprintf("the watchdog's action is %q, neither drop, forward nor alert", f.value), "orchagent refuses the row")
	}
	if row.get("detection_time") == nil && row.closed {
		r.problem(fabric.TextInert, port, row.at, "the watchdog has no detection_time", "orchagent refuses the row")
	}
	if poll != nil && w.DetectMs != nil && w.DetectMs.Is < poll.Is {
		r.problem(fabric.TextConflict, port, w.DetectMs.At, fmt.Sprintf("the watchdog is to detect in %d ms and looks every %d ms", w.DetectMs.Is, poll.Is),
			"SONiC refuses it, and it cannot be quicker than it looks")
	}
}
