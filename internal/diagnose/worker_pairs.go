package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// workers recognises workers that have part of a machine in a banner: the machines are then fewer than its hosts.
func (o *observer) workers(t *fabric.Table) {
	if o.in.Topology == nil || o.s.hw.Machine == "" {
		return
	}
	m := o.in.Topology(o.s.hw.Machine)
	if m == nil || len(m.GPUs) == 0 {
		return
	}
	w, why := workersOf(t.Devices, m)
	if why != "" {
		o.note("workers", why)
	}
	if w == nil {
		return
	}
	if o.in.PodNICs > 0 {
		w.per = o.in.PodNICs
	}
	o.s.workers = w
	o.s.hw.Nodes, o.s.hw.GPUsPerNode = max(2, w.machines), w.all // pods of one machine use its NICs as two machines do
	o.assume(fmt.Sprintf("each of the %s has %d of the %d NICs of its machine", w.text(), w.per, w.nics), "share of its GPUs; the banner does not name NICs")
	if w.near == nil {
		o.note("workers", "which NICs are near which GPUs of "+o.s.hw.Machine+" is not in the catalog: saved facts of a machine say it")
	}
}

// aligned is the placement that a job over parts of machines is held against: a near NIC for each GPU. Nil where the
// workers are whole machines.
func (s *observed) aligned() *collective.Placement {
	if s.workers == nil {
		return nil
	}
	return s.workers.withPairs(s.workers.most())
}

// measureWorkers says how many GPUs of each worker can have a near NIC, and what of a slow result that may explain. Which
// NICs a worker got is not in a banner: the numbers are ranges.
func (s *observed) measureWorkers() {
	w := s.workers
	if w == nil || w.near == nil {
		return
	}
	free, worst, err := w.placement(nil).Aligned(w.all, w.nics)
	if err != nil {
		s.notes = append(s.notes, fabric.Evidence{Source: "workers", Value: err.Error()})
		return
	}
	of, ofWorst, blocked := free, worst, ""
	if blocks := w.blocks(); len(blocks) > 1 && s.blocksFit(blocks) {
		of, ofWorst, _ = w.placement(blocks).Aligned(w.all, w.nics)
		blocked = fmt.Sprintf(" with a whole block of %d NICs", w.per)
	}
	fewest := s.fewest(of, free)
	i := fewest[0]
	bounds := fmt.Sprintf("%s of its %d GPUs (%s) can be near a NIC of their own%s", rangeText(of[i]), len(w.gpus[i]), numbers(w.gpus[i]), blocked)
	text := fmt.Sprintf("the worker with the fewest bounds the job, %s: %s", s.namesOf(fewest), bounds)
	s.notes = append(s.notes, fabric.Evidence{Source: "workers", Value: s.overAll(worst, ofWorst, blocked)})
	s.noteWorkers(free, of, blocked)
	if s.slowAcross() == nil {
		return
	}
	shows, about := "workers whose NICs are unknown", fabric.Subject{}
	if ofWorst.Max < w.most() {
		shows = "workers that no block of NICs fits"
	}
	if len(fewest) == 1 {
		about = fabric.NodeSubject(w.hosts[i])
	}
	s.showText(shows, "banner", text, about)
}

// overAll says how many aligned pairs the worst worker has, at the worst and at the best choice of NICs.
func (s *observed) overAll(worst, ofWorst fabric.CountRange, blocked string) string {
	text := fmt.Sprintf("near NICs of the worst worker: %s of %d", rangeText(ofWorst), s.workers.most()) + blocked
	if blocked != "" {
		text += fmt.Sprintf(", %s where a claim admits NICs of several blocks", rangeText(worst))
	}
	return text
}

// blocksFit reports whether the workers can have a block of NICs each.
func (s *observed) blocksFit(blocks [][]int) bool {
	_, _, err := s.workers.placement(blocks).Aligned(s.workers.all, s.workers.nics)
	return err == nil
}

// noteWorkers lists the workers, those with the fewest pairs first, a few of them.
func (s *observed) noteWorkers(free, of []fabric.CountRange, blocked string) {
	const most = 8
	w := s.workers
	order := make([]int, len(w.hosts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return fewer(of, free, a, b) })
	for _, i := range order[:min(len(order), most)] {
		text := fmt.Sprintf("%s: GPUs %s: %s of %d with a near NIC%s", w.hosts[i], numbers(w.gpus[i]), rangeText(of[i]), len(w.gpus[i]), blocked)
		if blocked != "" {
			text += fmt.Sprintf(", %s with any %d", rangeText(free[i]), w.per)
		}
		if w.on != nil {
			text += fmt.Sprintf("; machine %d by its GPUs", w.on[i]+1)
		}
		s.notes = append(s.notes, fabric.Evidence{Source: "worker", Value: text})
	}
	if more := len(order) - most; more > 0 {
		s.notes = append(s.notes, fabric.Evidence{Source: "worker", Value: fmt.Sprintf("and %d more", more)})
	}
}

// fewer orders two workers by their aligned pairs.
func fewer(of, free []fabric.CountRange, a, b int) int {
	for _, d := range []int{of[a].Min - of[b].Min, free[a].Min - free[b].Min, of[a].Max - of[b].Max} {
		if d != 0 {
			return d
		}
	}
	return 0
}

// fewest are the workers with the fewest aligned pairs.
func (s *observed) fewest(of, free []fabric.CountRange) (found []int) {
	for i := range of {
		if len(found) == 0 || fewer(of, free, i, found[0]) < 0 {
			found = []int{i}
		} else if fewer(of, free, i, found[0]) == 0 {
			found = append(found, i)
		}
	}
	return found
}

// namesOf lists a few workers.
func (s *observed) namesOf(list []int) string {
	const most = 4
	var names []string
	for _, i := range list[:min(len(list), most)] {
		names = append(names, s.workers.hosts[i])
	}
	text := strings.Join(names, " or ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" or one of %d more", more)
	}
	return text
}

func rangeText(r fabric.CountRange) string {
	if r.Min == r.Max {
		return strconv.Itoa(r.Min)
	}
	return fmt.Sprintf("%d to %d", r.Min, r.Max)
}

// numbers lists indexes: 0, 1, 6, 7.
func numbers(list []int) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, ", ")
}
