package check

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// Rates of a QSFP port of a DGX Spark, Mb/s: what it has, and the least that a peer of its kind or a switch for it gives it.
// Slower ends, such as a server's SFP28 port, run at their own rate.
const (
	sparkRate     = 200_000
	sparkPeerRate = 100_000
)

func sparkRateRule() Rule {
	return Rule{
		ID:    "spark-rate",
		Title: "A used QSFP port of a DGX Spark runs at 200 Gb/s",
		Doc: "compares the speed of each used QSFP port of a DGX Spark with 200 Gb/s. At 100 Gb/s a cable, a breakout or a setting of the other end holds it back: its twins " +
			"share 100 Gb/s. Where it runs slower and no plan says what is at the other end, another kind of machine may be",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CausePortRateLow,
		Reference: "DGX Spark Networking, specifications; ethtool(8), Speed",
		Facts:     []string{fabric.FactNICs, fabric.FactNICSpeed, fabric.FactPortRate},
		Scope:     []Condition{withHardware(), onSpark()},
		DependsOn: []string{"spark-cable", "rate-planned"},
		Node:      judgeSparkRate,
	}
}

func judgeSparkRate(in NodeInput) []Verdict {
	n := in.view.spark
	var out []Verdict
	for i := range n.Ports {
		p := &n.Ports[i]
		if !p.Used() {
			continue
		}
		for t := range p.Twins {
			v := in.judgeTwinRate(p, &p.Twins[t])
			v.Subject = fabric.NICSubject(n.Name, p.Twins[t].Label())
			if p.Twins[t].HCA != "" {
				v.On = append(v.On, portSubject(n.Name, p.Twins[t].HCA+"/1"))
			}
			out = append(out, v)
		}
	}
	if len(out) > 0 {
		return out
	}
	return in.eachQSFP(func(*spark.QSFP) Verdict { return Verdict{} }) // none is in use
}

func (in NodeInput) judgeTwinRate(p *spark.QSFP, tw *spark.Half) Verdict {
	const want = "200000 Mb/s"
	name := tw.Label() + " of port " + in.Facts.Node + " " + p.Title()
	if tw.SpeedMbps <= 0 || tw.Up != nil && !*tw.Up {
		return Verdict{Expected: want, Why: in.why("speed of "+name+" was not read", fabric.FactNICSpeed+" "+tw.NIC, fabric.FactNICs)}
	}
	seen := []fabric.Evidence{saw("speed of "+tw.Label(), fmt.Sprintf("%d Mb/s", tw.SpeedMbps))}
	switch {
	case tw.SpeedMbps >= sparkRate:
		return pass(want, seen...)
	case tw.SpeedMbps < sparkPeerRate && in.Plan == nil:
		return Verdict{Expected: want, Evidence: seen, Why: fmt.Sprintf("%s runs at %d Mb/s, as it does at a peer of another kind; nothing says what is at its other end", name, tw.SpeedMbps)}
	}
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: seen,
		Why:  fmt.Sprintf("%s runs at %d of %d Mb/s.", name, tw.SpeedMbps, sparkRate),
		Cost: fmt.Sprintf("both twins share %d Gb/s of the port's 200", tw.SpeedMbps/1000),
		Fix:  "a QSFP56 cable or module for 200 Gb/s, 200 Gb/s without breakout at a switch, and one setting at both ends; see " + onNode("sudo mlxlink -d "+tw.PCI+" -c", in.Facts.Node),
	}
}
