package plan

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// traffic returns the classes of a fabric; nil where the cluster file has none: on InfiniBand and in a cloud.
func traffic(t *intent.Traffic) *fabric.Traffic {
	if t == nil || t.RoCE == nil || t.CNP == nil {
		return nil
	}
	roce := class("roce", *t.RoCE)
	roce.Lossless = t.Lossless() // after a loss RoCE resends everything from the lost packet on
	if e := t.ECN; e != nil {
		roce.ECN = &fabric.ECN{MinBytes: int64(e.MinKiB) << 10, MaxBytes: int64(e.MaxKiB) << 10, Percent: e.Probability,
			Source: mixed(3, e.Defaults, intent.ECNSource)}
	}
	out := &fabric.Traffic{
		Classes: []fabric.TrafficClass{class("cnp", *t.CNP), roce},
		Share:   t.Share, ShareSource: source(t.ShareSource),
		CableM: t.CableM, CableSource: source(t.CableSource),
	}
	if w := t.Watchdog; w != nil {
		out.Watchdog = &fabric.PFCWatchdog{DetectMs: w.DetectMs, RestoreMs: w.RestoreMs, Source: mixed(2, w.Defaults, intent.WatchdogSource)}
	}
	return out
}

func class(name string, c intent.Class) fabric.TrafficClass {
	return fabric.TrafficClass{Name: name, DSCP: c.DSCP, Priority: c.Priority, Source: source(c.Source)}
}

// source says where a value comes from: the document of a default, else the cluster file.
func source(document string) string {
	if document == "" {
		return "cluster file"
	}
	return "default: " + document
}

// mixed is the source of a block of fields, some of which are defaults.
func mixed(fields int, defaults []string, document string) string {
	switch len(defaults) {
	case 0:
		return source("")
	case fields:
		return source(document)
	}
	return "cluster file; default of " + strings.Join(defaults, ", ") + ": " + document
}

// lossyNotes says what a fabric without PFC rests on.
func lossyNotes(t *fabric.Traffic) []string {
	if t == nil {
		return nil
	}
	for _, c := range t.Classes {
		switch {
		case c.Name != "roce" || c.Lossless:
		case c.ECN == nil:
			return []string{"RoCE is lossy (pfc: false), and nothing slows its senders down (no ecn): packets are dropped on every congestion."}
		default:
			return []string{"RoCE is lossy (pfc: false): what ECN does not prevent is dropped and sent again."}
		}
	}
	return nil
}
