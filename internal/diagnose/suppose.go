package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// suppose takes the machines that the catalog has of a banner's GPUs for those of the run, where nothing names them and
// the answer does not depend on which they are: those whose bound lies below what was measured cannot have been it, and
// all others come to the same verdict. It reports whether o.s.hw has a machine then.
func (o *observer) suppose(t *fabric.Table, p point, job Job, sizes []int64, factor float64) bool {
	names := deviceNames(t.Devices)
	hw := o.s.hw
	if o.in.Suppose == nil || o.in.Machines == nil || len(names) != 1 || hw.Machine != "" || hw.Nodes < 2 || hw.NICsPerNode > 0 || hw.NICGbps > 0 || o.s.workers != nil {
		return false
	}
	var fitting, impossible []fabric.Hardware
	var verdict quality
	var each []string // what every machine would make of it
	agreed := true
	for _, s := range o.in.Suppose(o.in.Machines.GPU(o.gpuOf(names[0])), hw.GPUsPerNode) {
		if hw.Net != "" && !strings.EqualFold(hw.Net, s.Net) {
			continue
		}
		stands, ok := o.trial(t, p, filled(s, hw), job, sizes, factor)
		if !ok {
			return false
		}
		each = append(each, fmt.Sprintf("%s: %s to %s GB/s at %s", supposed([]fabric.Hardware{s}), number(stands.expected.Low), number(stands.expected.High), bytesText(stands.size)))
		switch q := stands.quality; {
		case q == above:
			impossible = append(impossible, s)
			continue
		case q == unjudged || len(fitting) > 0 && q != verdict:
			agreed = false
		default:
			verdict = q
		}
		fitting = append(fitting, s)
	}
	if !agreed {
		o.note("machines", "healthy is, by the machines that the catalog has with these GPUs: "+strings.Join(each, ", "))
	}
	if !agreed || len(fitting) == 0 {
		return false
	}
	o.s.hw = filled(o.s.hw, fitting[0])
	what := fmt.Sprintf("the machines are %s", supposed(fitting[:1]))
	if others := fitting[1:]; len(others) > 0 {
		what += fmt.Sprintf("; as %s the verdict is the same", supposed(others))
	}
	if len(impossible) > 0 {
		what += fmt.Sprintf("; %s cannot carry what was measured", supposed(impossible))
	}
	o.assume(what, fmt.Sprintf("%s of the banner, and what the catalog has with them; --machine and --net say it", fabric.Printable(names[0])))
	return true
}

// trial is the row that stands for a table, judged as if it was measured on machines; ok is false where they are not predicted.
func (o *observer) trial(t *fabric.Table, p point, hw fabric.Hardware, job Job, sizes []int64, factor float64) (stands point, ok bool) {
	pred, err := o.in.Predict(hw, job, append(slices.Clone(sizes), plateau))
	if err != nil || pred == nil || len(pred.Rows) != len(sizes)+1 || !sane(pred.Rows) {
		return stands, false
	}
	on := observer{in: o.in, by: o.by, s: &observed{hw: filled(hw, pred.Hardware)}}
	large, _ := on.judgeSizes(t, p, sizes, pred.Rows[:len(sizes)], pred.Rows[len(sizes)].BusBW, factor)
	if len(large) == 0 {
		return stands, false
	}
	return on.judgePlateau(large), true
}

// supposed lists machines with their networks: hgx-h100 with ib or roce, p5-48xlarge with efa.
func supposed(all []fabric.Hardware) string {
	var texts []string
	for i, hw := range all {
		if i > 0 && all[i-1].Machine == hw.Machine {
			texts[len(texts)-1] += " or " + hw.Net
			continue
		}
		texts = append(texts, hw.Machine+" with "+hw.Net)
	}
	return strings.Join(texts, ", ")
}

// slicesOf says that a table was measured between slices of GPUs, which neither NVLink nor PCIe joins (NVIDIA Multi-Instance
// GPU user guide, Deployment Considerations: no GPU to GPU P2P); empty: it was not. Their names end as MIG 3g.40gb.
func slicesOf(names []string) string {
	for _, name := range names {
		words := strings.Fields(strings.ToLower(name))
		if i := slices.Index(words, "mig"); i >= 0 && i+1 < len(words) && strings.Contains(words[i+1], "g.") {
			return fmt.Sprintf("the banner names %s: slices of GPUs, of which the catalog has no figures", fabric.Printable(name))
		}
	}
	return ""
}
