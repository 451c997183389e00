package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Machines is what the catalog knows of machines and of names of GPUs.
type Machines interface {
	// GPU returns the id of a GPU by its short name; empty: unknown.
	GPU(name string) string
	// GPUOf returns the id of the GPU of a machine; empty: unknown.
	GPUOf(machine string) string
	// With returns the machines with a GPU, by its id, and so many of them; 0: with any number. Sorted.
	With(gpu string, perNode int) []string
	// Linked reports whether links of their own join GPUs of that id or short name; else they have only PCIe. ok is false for a
	// GPU that is not known.
	Linked(gpu string) (linked, ok bool)
}

// hardware puts together what flags, table and banner say, in this order of trust. What contradicts the flags forbids
// a verdict: one of the two is of another run.
func (o *observer) hardware(t *fabric.Table) {
	names := deviceNames(t.Devices)
	banner := fabric.Hardware{Nodes: t.Nodes}
	if len(names) == 1 {
		banner.GPU = o.gpuOf(names[0])
	}
	if len(names) > 1 {
		o.contradict("the banner names different GPUs: " + fabric.Printable(strings.Join(names, ", ")))
	}
	if mig := slicesOf(names); mig != "" && o.s.unusable == "" {
		o.s.unusable = mig
	}
	if t.Hardware != nil {
		o.compare("the file states "+statedText(*t.Hardware), *t.Hardware)
		o.s.hw = filled(o.s.hw, *t.Hardware)
	}
	if o.s.hw.Machine == "" {
		o.s.hw.Machine = o.machineOf(t, names)
	}
	if o.workers(t); o.s.workers != nil {
		banner.Nodes = o.s.workers.machines
	}
	o.compare("the banner names "+o.bannerText(t, names), banner)
	if t.Nodes > 0 && o.s.workers == nil && t.Ranks > 0 && t.Ranks%t.Nodes == 0 {
		banner.GPUsPerNode = t.Ranks / t.Nodes
	}
	if o.s.hw.Machine != "" {
		banner.GPU = "" // the machine's own
	}
	o.s.hw = filled(o.s.hw, banner)
	o.planned()
	o.spread(t.Ranks)
	o.onePort()
	if o.s.hw.Nodes == 1 && o.s.hw.Net == "" && o.s.workers == nil {
		o.s.hw.Net = "none"
	}
}

// machineOf is the machine of a banner's GPUs for which its cloud installs the network plugin that the run used; empty:
// none, or several.
func (o *observer) machineOf(t *fabric.Table, names []string) string {
	plugin := t.Config["net_plugin"]
	if plugin == "" && o.by.ran != nil {
		plugin = o.by.ran.Net
	}
	if plugin == "" || o.in.WithPlugin == nil || o.in.Machines == nil || len(names) != 1 || o.s.hw.GPU != "" {
		return ""
	}
	fitting := o.in.WithPlugin(o.in.Machines.GPU(o.gpuOf(names[0])), plugin)
	if len(fitting) != 1 {
		return ""
	}
	o.assume(fmt.Sprintf("the machines are %s: of those with %s it is the one whose cloud installs %s", fitting[0], fabric.Printable(names[0]), fabric.Printable(plugin)), "the text before the banner")
	return fitting[0]
}

// planned takes the nodes of a cluster file where nothing says on how many of them a test ran.
func (o *observer) planned() {
	if o.s.hw.Nodes == 0 && o.in.PlannedNodes > 0 {
		o.s.hw.Nodes = o.in.PlannedNodes
		o.assume(fmt.Sprintf("the test ran on all %s of the cluster file", fabric.Count(o.in.PlannedNodes, "node")), "cluster file")
	}
}

// compare holds what a result says of its hardware, says in words, against what was stated on the command line or in
// a cluster file.
func (o *observer) compare(says string, seen fabric.Hardware) {
	stated := o.in.Hardware
	if stated.Nodes > 0 && seen.Nodes > 0 && stated.Nodes != seen.Nodes {
		o.contradict(fmt.Sprintf("--nodes %d is stated, but %s", stated.Nodes, says))
	}
	if o.in.PlannedNodes > 0 && seen.Nodes > o.in.PlannedNodes {
		o.contradict(fmt.Sprintf("the cluster file has %s, but %s", fabric.Count(o.in.PlannedNodes, "node"), says))
	}
	if stated.Machine != "" && seen.Machine != "" && !strings.EqualFold(stated.Machine, seen.Machine) {
		o.contradict(fmt.Sprintf("machine %s is stated, but %s", stated.Machine, says))
	}
	if o.in.Machines == nil {
		return
	}
	want, what := o.in.Machines.GPU(stated.GPU), "--gpu "+stated.GPU
	if stated.Machine != "" {
		want = o.in.Machines.GPUOf(stated.Machine)
		what = "machine " + stated.Machine + " with GPU " + want
	}
	got := o.in.Machines.GPU(seen.GPU)
	if got == "" && seen.Machine != "" {
		got = o.in.Machines.GPUOf(seen.Machine)
	}
	switch {
	case want == "":
	case got != "" && got != want:
		o.contradict(fmt.Sprintf("%s is stated, but %s", what, says))
	case got == "" && seen.GPU != "":
		o.assume(fmt.Sprintf("%s is right, although %s: a GPU that the catalog does not have", what, says), "command line")
	}
}

// contradict forbids a verdict on numbers: what they are to be compared with is in doubt.
func (o *observer) contradict(why string) {
	if o.s.unusable == "" {
		o.s.unusable = why
	}
	o.need("the machine and the nodes of that run")
}

// statedText is the machines of a file in words.
func statedText(hw fabric.Hardware) string {
	text := fabric.Printable(strings.TrimSpace(hw.Machine + " " + hw.GPU))
	if hw.Nodes > 0 {
		text = strings.TrimSpace(text + " on " + fabric.Count(hw.Nodes, "node"))
	}
	return strings.TrimPrefix(text, "on ")
}

// gpuOf is the GPU of a banner's name: its id where the catalog has it. The form of a card outweighs its memory, which
// both forms may have: NVIDIA A100 80GB PCIe.
func (o *observer) gpuOf(name string) string {
	short := gpuName(name)
	if o.in.Machines == nil {
		return short
	}
	words := slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' }), func(w string) bool {
		return w == "nvidia" || w == "amd" || w == "tesla" || w == "instinct"
	})
	all := strings.Join(words, "-")
	tries := []string{all}
	for _, form := range []string{"pcie", "nvl"} {
		if slices.Contains(words, form) {
			tries = append(tries, strings.TrimSuffix(short, "-pcie")+"-"+form, "")
		}
	}
	for n := len(words) - 1; n > 0; n-- {
		tries = append(tries, strings.Join(words[:n], "-"))
	}
	for _, try := range tries {
		if try == "" {
			break // of this form, and unknown
		}
		if id := o.in.Machines.GPU(try); id != "" {
			return id
		}
	}
	return short
}

// deviceNames are the different names of the GPUs of a banner, in its order.
func deviceNames(devices []fabric.RankDevice) []string {
	var names []string
	for _, d := range devices {
		if name := strings.TrimSpace(d.Name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// bannerText is what a banner says of the machines: 16 x NVIDIA B200 on 2 nodes.
func (o *observer) bannerText(t *fabric.Table, names []string) string {
	if len(names) == 0 || len(t.Devices) == 0 {
		return fabric.Count(t.Nodes, "node")
	}
	return fmt.Sprintf("%d x %s on %s", len(t.Devices), fabric.Printable(names[0]), fabric.Count(max(1, t.Nodes), "node"))
}

// machinesNeeded asks for the machine where the banner names its GPUs, with those that have them.
func (o *observer) machinesNeeded(t *fabric.Table) string {
	names := deviceNames(t.Devices)
	if o.in.Machines == nil || o.s.hw.Machine != "" || len(names) != 1 {
		return hardwareNeeded(o.s.hw)
	}
	gpu := o.in.Machines.GPU(o.gpuOf(names[0]))
	if gpu == "" {
		return hardwareNeeded(o.s.hw) + fmt.Sprintf("; the banner names %s, which the catalog does not have", o.bannerText(t, names))
	}
	fitting := o.in.Machines.With(gpu, o.s.hw.GPUsPerNode)
	if len(fitting) == 0 {
		fitting = o.in.Machines.With(gpu, 0)
	}
	if len(fitting) == 0 {
		return hardwareNeeded(o.s.hw)
	}
	text := fmt.Sprintf("the machine of the %s that the banner names: --machine %s", o.bannerText(t, names), strings.Join(fitting, " or --machine "))
	if o.s.hw.Nodes == 0 {
		text += " --nodes N"
	}
	return text
}
