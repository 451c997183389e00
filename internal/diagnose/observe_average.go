package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// sweep are the sizes that a run measured by the numbers of its banner, bytes; nil where it does not say them all.
func sweep(config map[string]string) (sizes []int64) {
	from, err := strconv.ParseInt(config["minimum_bytes"], 10, 64)
	to, err2 := strconv.ParseInt(config["maximum_bytes"], 10, 64)
	factor, _ := strconv.ParseInt(config["step_factor"], 10, 64)
	step, _ := strconv.ParseInt(config["step_bytes"], 10, 64)
	if err != nil || err2 != nil || from < 1 || factor < 2 && step < 1 {
		return nil
	}
	for n := from; n <= to; {
		if sizes = append(sizes, n); len(sizes) > maxRows {
			return nil
		}
		if factor > 1 && n > to/factor {
			break
		}
		if factor > 1 {
			n *= factor
		} else {
			n += step
		}
	}
	return sizes
}

// footerOnly judges the average of a table whose rows were left out: nccl-tests averages the bus bandwidth over all sizes,
// each counted the same. It can show a fault and never health, since it says nothing of the large sizes by themselves.
func (o *observer) footerOnly(t *fabric.Table, p point, job Job) {
	sizes := sweep(t.Config)
	p.busbw, p.average = *t.Average, true
	switch {
	case len(sizes) == 0:
		o.s.unusable = "the rows of the table are left out, and the banner does not say which sizes its average is over"
		return
	case t.Collective == "":
		o.s.unusable = "the rows of the table are left out, and nothing says of which collective its average is: -t all_gather, or the name of the program"
		return
	}
	p.source = strings.TrimLeft(fmt.Sprintf("%s, average over %d sizes", p.source, len(sizes)), ", ")
	o.note("rows", fmt.Sprintf("the rows are left out: judged by the average over %d sizes from %s to %s alone", len(sizes), bytesText(sizes[0]), bytesText(sizes[len(sizes)-1])))
	mean, pred := o.expectedAverage(sizes, job)
	if pred == nil {
		o.need(o.machinesNeeded(t))
		o.s.points = append(o.s.points, p)
		return
	}
	o.s.hw = filled(o.s.hw, pred.Hardware)
	p.expected = mean
	p.ratio = p.busbw / mean.BusBW
	if p.busbw < mean.Low {
		p.quality = bad
	}
	o.need("the rows of the table: an average shows no more than that a run is slow")
	o.s.points = append(o.s.points, p)
	o.averagesByPairs(sizes, job)
}

// expectedAverage is the mean of a healthy curve over sizes, between the means of the lower and upper ends of its bands.
func (o *observer) expectedAverage(sizes []int64, job Job) (mean fabric.Expected, pred *fabric.Prediction) {
	pred = o.predict(o.s.hw, job, sizes)
	if pred == nil {
		return mean, nil
	}
	return meanOf(pred.Rows), pred
}

func meanOf(rows []fabric.PredictionRow) (mean fabric.Expected) {
	n := float64(len(rows))
	for _, r := range rows {
		mean.BusBW += r.BusBW / n
		mean.Low += r.Band[0] / n
		mean.High += r.Band[1] / n
	}
	return mean
}

// averagesByPairs notes which average each number of aligned pairs of the worst worker would leave.
func (o *observer) averagesByPairs(sizes []int64, job Job) {
	w := o.s.workers
	if w == nil {
		return
	}
	var parts []string
	for pairs := w.most(); pairs >= 0; pairs-- {
		job.Placement = w.withPairs(pairs)
		if pred, err := o.in.Predict(o.s.hw, job, sizes); err == nil && sane(pred.Rows) {
			mean := meanOf(pred.Rows)
			parts = append(parts, fmt.Sprintf("%d: %s", pairs, number(mean.BusBW)))
		}
	}
	o.note("average", fmt.Sprintf("GB/s over these sizes, by the GPUs of the worst worker with a near NIC: %s", strings.Join(parts, ", ")))
}

// averageNote says what the footer's average of a slow table should be.
func (o *observer) averageNote(t *fabric.Table, sizes []int64, job Job) {
	if t.Average == nil || !t.Complete || len(sizes) < 2 {
		return
	}
	if mean, pred := o.expectedAverage(sizes, job); pred != nil && *t.Average < mean.Low {
		o.note("average", fmt.Sprintf("%s GB/s over %d sizes, where %s to %s GB/s are expected", number(*t.Average), len(sizes), number(mean.Low), number(mean.High)))
	}
}

// placed gives a job the placement of its workers, with every GPU aligned: what is healthy.
func (o *observer) placed(job Job) Job {
	job.Placement = o.s.aligned()
	return job
}
