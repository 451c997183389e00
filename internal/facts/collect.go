// Package facts reads what one node reports about itself: sysfs, procfs, netlink, LLDP. Each file of the package
// is one source. Nothing is evaluated here; what could not be read is in Missing with its reason, so that
// no rule confuses "not read" with "read and empty".
package facts

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// source is one place that facts come from. What is the path into Facts that its absence would leave empty.
type source struct {
	what string
	read func(ctx context.Context, h host.Host, f *fabric.Facts)
}

// sources are read in this order: a later one may use what an earlier one found (routes need the names of
// interfaces).
func sources() []source {
	return []source{
		{fabric.FactPlatform, readPlatform},
		{fabric.FactKernel, readKernel},
		{fabric.FactModules, readModules},
		{fabric.FactSysctls, readSysctls},
		{fabric.FactMachine, readMachine},
		{fabric.FactPCI, readPCI},
		{fabric.FactHCAs, readInfiniBand},
		{fabric.FactNICs, readLinks},
		{fabric.FactNICOwner, readNICOwners},
		{fabric.FactNICAddresses, readAddresses},
		{fabric.FactRoutes, readRoutes},
		{fabric.FactRules, readRules},
		{fabric.FactNeighbours, readNeighbours},
		{fabric.FactGPUs, readGPUs},
		{fabric.FactFabricManagerMode, readFabricManager},
		{fabric.FactKernelPeerMemory, readSymbols},
		{fabric.FactFirewall, readFirewall},
		{fabric.FactPod, readPod},
		{"tools", readTools},
		{fabric.FactNICQoS, readNICSettings},
		{fabric.FactMachineHotPlug, readSpark},
		{fabric.FactLLDP, readLLDP},
	}
}

// Collect reads every source of the list and returns the node's facts. It never fails as a whole: what could
// not be read is in Missing.
func Collect(ctx context.Context, h host.Host, now time.Time) *fabric.Facts {
	f := &fabric.Facts{
		Meta:      fabric.NewMeta("Facts"),
		Node:      h.Name(),
		Collected: now.UTC().Format(time.RFC3339),
		Source:    sourceOf(h),
	}
	for _, s := range sources() {
		if err := ctx.Err(); err != nil {
			miss(f, s.what, "facts", err)
			continue
		}
		s.read(ctx, h, f)
	}
	return f
}

// sourceOf returns where the facts of this host come from. What is collected through a Recorder is what its recording
// returns, to the byte.
func sourceOf(h host.Host) string {
	switch h.(type) {
	case *host.Recorder, *host.Replay:
		return "recorded"
	case host.Netlinker:
		return "live"
	default:
		return "tree"
	}
}

func readPlatform(_ context.Context, h host.Host, f *fabric.Facts) {
	text, err := host.ReadString(h, host.PlatformFile)
	if err != nil && !host.IsAbsent(err) {
		miss(f, fabric.FactPlatform, host.PlatformFile, err)
		return
	}
	f.Platform = fabric.Printable(text)
}

// miss records that a fact could not be read, or that the kernel has no such file.
func miss(f *fabric.Facts, what, source string, err error) {
	f.Missing = append(f.Missing, fabric.Missing{What: what, Source: source, Reason: reason(err), Absent: host.IsAbsent(err)})
}

// reason leaves out the path of a file error: it is in Source already, and a captured tree's path
// means nothing to the reader.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// optional reads a text that may be absent; then it is nil and Missing says why.
func optional(h host.Host, f *fabric.Facts, what, file string) *string {
	text, err := host.ReadString(h, file)
	if err != nil {
		miss(f, what, file, err)
		return nil
	}
	text = fabric.Printable(text)
	return &text
}

// keyValue splits a line such as "Firmware version: 28.39.1002" at its first colon.
func keyValue(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}
