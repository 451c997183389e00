package plan

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// Thresholds of a cluster file that only switches ECN or the watchdog on.
const (
	ecnMin, ecnMax, ecnPercent = 1 << 20, 2 << 20, 5 // bytes, bytes, percent
	ecnSource                  = "SONiC, sonic-buildimage, files/build_templates/qos_config.j2: WRED profile AZURE_LOSSLESS; " +
		"Broadcom 957608-AN209, 2.5.2: minimum-threshold 1048 maximum-threshold 2097 drop-probability 5"
	watchdogDetect, watchdogRestore = 200, 400 // milliseconds
	watchdogSource                  = "Broadcom 957608-AN209, 2.5.2: priority-flow-control watchdog on detect-time 200, restore-time 400"
)

// traffic returns the classes of a fabric; nil where the cluster file has none: on InfiniBand and in a cloud.
func traffic(t *intent.Traffic) *fabric.Traffic {
	if t == nil || t.RoCE == nil || t.CNP == nil {
		return nil
	}
	roce := class("roce", *t.RoCE)
	roce.Lossless = true // after a loss RoCE resends everything from the lost packet on
	if t.ECN != nil {
		roce.ECN = &fabric.ECN{MinBytes: ecnMin, MaxBytes: ecnMax, Percent: ecnPercent, Source: ecnSource}
	}
	out := &fabric.Traffic{
		Classes: []fabric.TrafficClass{class("cnp", *t.CNP), roce},
		CableM:  t.CableM, CableSource: source(t.CableSource),
	}
	if t.Watchdog != nil {
		out.Watchdog = &fabric.PFCWatchdog{DetectMs: watchdogDetect, RestoreMs: watchdogRestore, Source: watchdogSource}
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
