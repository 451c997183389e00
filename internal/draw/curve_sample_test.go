package draw

import "math"

// healthyCurve is what two nodes of eight H100 with eight NICs of 400 Gb/s give, in round numbers: a start
// of 25 us, 470 GB/s for the largest sizes, half of that at 64 MiB.
func healthyCurve(from, to int) []CurveRow {
	var rows []CurveRow
	for e := from; e <= to; e++ {
		size := math.Exp2(float64(e))
		us := 25 + size*1.875/(470*1e3)*(1+60/(size/(1<<20)+60))
		rate := size * 1.875 / us / 1e3
		rows = append(rows, CurveRow{int64(size), rate, rate * 0.9, rate * 1.06, 735, "8 NICs of 400 Gb/s"})
	}
	return rows
}

// sickPoints are a published table: 2 nodes of 8 H100 at a third of what they should give (nccl-tests, issue 290).
func sickPoints() []CurvePoint {
	return points(23, 73.055, 119.655, 143.215, 137.009, 159.722, 166.226, 144.14, 149.852, 153.094, 154.739, 155.57)
}

// healthyPoints are a published table of healthy machines of that kind (nccl-tests, issue 309).
func healthyPoints() []CurvePoint {
	return points(3, 0, 0.001, 0.002, 0.005, 0.009, 0.005, 0.03, 0.063, 0.136, 0.254, 0.478, 0.938, 1.802, 3.631, 6.339, 10.099, 12.653, 27.333,
		51.576, 83.326, 118.617, 169.672, 234.843, 269.962, 336.307, 392.358, 426.974, 448.899, 461.24, 466.52, 468.46, 469.211)
}

func points(exponent int, busbw ...float64) []CurvePoint {
	var all []CurvePoint
	for i, v := range busbw {
		all = append(all, CurvePoint{1 << (exponent + i), v})
	}
	return all
}

func sickCurve() Curve {
	return Curve{Title: "all_reduce, 16 ranks on 2 nodes", Series: []CurveSeries{{Name: "all_reduce", Measured: sickPoints(), Expected: healthyCurve(23, 33)}}}
}
