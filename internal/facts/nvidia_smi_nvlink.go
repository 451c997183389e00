package facts

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// nvlinkTool is how people call it.
const nvlinkTool = "nvidia-smi nvlink"

// nvlinkRuns asks for the links and for their errors, where there is more than one GPU to join. They run at the end: where
// the driver hangs, everything else was read.
func nvlinkRuns(_ host.Host, f *fabric.Facts) []toolRun {
	of := func(g fabric.GPU) bool { return g.Driver == "nvidia" }
	if !slices.ContainsFunc(f.GPUs, of) {
		return nil
	}
	return []toolRun{{argv: []string{"nvidia-smi", "nvlink", "-s"}}, {argv: []string{"nvidia-smi", "nvlink", "-e"}}}
}

// Lines of nvidia-smi nvlink:
//
//	GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)
//		 Link 0: 26.562 GB/s          with -s; <inactive> for one that is down
//		 Link 0: Replay Errors: 0     with -e; on Blackwell Link recovery failed events and others
//		 Link 0, P2P is supported: true    with -c
//
// and in the place of links a sentence: NVML: Unable to retrieve Nvlink information as all links are inActive.
var (
	nvlinkHead  = pattern.New(`^GPU ([0-9]{1,4}): (\S.*?) \(UUID: (GPU-[0-9A-Za-z-]{1,64})\)(.*)$`)
	nvlinkState = pattern.New(`^Link ([0-9]{1,3}): (<inactive>|[0-9]{1,5}(?:\.[0-9]{1,6})? GB/s)$`)
	nvlinkError = pattern.New(`^Link ([0-9]{1,3}): ([A-Za-z][A-Za-z -]{2,40}): ([0-9]{1,19})$`)
	nvlinkNone  = pattern.New(`(?i)^(?:NVML: )?(unable to retrieve nvlink information.*|device does not have or support nvlink.*)$`)
)

func isNVLinkLine(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "Link ") && (nvlinkState().MatchString(line) || nvlinkError().MatchString(line)) || nvlinkNone().MatchString(line)
}

// knowsNVLink wants a line of a link, or the sentence in its place: nvidia-smi -L has the same heads.
func knowsNVLink(text string) bool {
	return hasLine(text, func(line string) bool {
		if m := nvlinkHead().FindStringSubmatch(line); m != nil {
			return nvlinkNone().MatchString(strings.TrimSpace(m[4]))
		}
		return isNVLinkLine(line)
	})
}

// nvlinkReader is a GPU whose lines are being read.
type nvlinkReader struct {
	gpu   fabric.GPU
	link  fabric.NVLink
	rates map[int]float64 // GB/s of the links that are up
}

// parseNVLink reads the state of links, and the sums of their error counters. A GPU without a line of its own is one
// without links beside others, unless it is the last: there the text may be cut.
func parseNVLink(text, _ string) (fabric.Facts, error) {
	var all []*nvlinkReader
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := nvlinkHead().FindStringSubmatch(line); m != nil {
			if len(all) > maxDevices {
				break // read refuses it
			}
			g := fabric.GPU{Vendor: "nvidia", Name: fabric.Printable(m[2]), UUID: fabric.Printable(m[3]), Index: number(m[1])}
			all = append(all, &nvlinkReader{gpu: g, rates: map[int]float64{}})
			line = strings.TrimSpace(m[4])
		}
		if len(all) > 0 {
			all[len(all)-1].line(line)
		}
	}
	listed := slices.ContainsFunc(all, func(r *nvlinkReader) bool { return r.link.Listed })
	if !listed && !slices.ContainsFunc(all, func(r *nvlinkReader) bool { return r.link.Errors != nil }) {
		return fabric.Facts{}, errors.New("no state and no counter of a link")
	}
	var f fabric.Facts
	for i, r := range all {
		if listed && !r.link.Listed && r.link.Errors == nil && i < len(all)-1 {
			r.link.Listed, r.link.Says = true, "no link is listed"
		}
		if r.link.Listed || r.link.Errors != nil {
			r.gpu.NVLink = r.sum()
		}
		f.GPUs = append(f.GPUs, r.gpu)
	}
	return f, nil
}

// line reads one line of the GPU.
func (r *nvlinkReader) line(line string) {
	if m := nvlinkState().FindStringSubmatch(line); m != nil {
		link, _ := strconv.Atoi(m[1])
		r.link.Listed = true
		rate, err := strconv.ParseFloat(strings.TrimSuffix(m[2], " GB/s"), 64)
		switch {
		case err == nil && rate > 0:
			r.rates[link] = rate
		case !slices.Contains(r.link.Down, link):
			r.link.Down = append(r.link.Down, link)
		}
		return
	}
	if m := nvlinkError().FindStringSubmatch(line); m != nil {
		if r.link.Errors == nil {
			r.link.Errors = map[string]uint64{}
		}
		name := strings.ToLower(m[2])
		if value := count(m[3]); value != nil && slices.Contains(fabric.NVLinkFaults(), name) {
			r.link.Errors[name] += *value
		}
		return
	}
	if m := nvlinkNone().FindStringSubmatch(line); m != nil {
		r.link.Listed, r.link.Says = true, fabric.Printable(strings.TrimRight(m[1], " ."))
	}
}

// sum keeps of the links that are up how many they are, the highest rate, and which are slower.
func (r *nvlinkReader) sum() *fabric.NVLink {
	n := r.link
	n.Up = len(r.rates)
	for _, rate := range r.rates {
		n.GBps = max(n.GBps, rate)
	}
	for link, rate := range r.rates {
		if rate < n.GBps {
			n.Slow = append(n.Slow, link)
			if n.Low == 0 || rate < n.Low {
				n.Low = rate
			}
		}
	}
	slices.Sort(n.Slow)
	slices.Sort(n.Down)
	return &n
}
