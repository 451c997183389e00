package check

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

func sparkCabling() Rule {
	return Rule{
		ID:    "spark-cabling",
		Title: "DGX Sparks are cabled as a pair, to a switch, or as a ring of p0 to p1",
		Doc: "finds which QSFP port is cabled to which, by LLDP, MAC addresses and shared subnets, and names cables of equal ports in a mesh or ring, a second cable to " +
			"the same machine, a chain that was not closed, and a port that leads to something else",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMiscabled,
		Reference: "DGX Spark Networking, 3-node mesh; luxingcom/aicad-nccl-optimization issue 1; public measurements with two cables",
		Facts:     []string{fabric.FactLLDP, fabric.FactNeighbours, fabric.FactNICAddresses},
		Scope:     []Condition{withoutTwins(), onSpark()},
		Cluster:   judgeSparkCabling,
	}
}

func sparkLinks() Rule {
	return Rule{
		ID:    "spark-links",
		Title: "The addresses of DGX Sparks fit their cables",
		Doc: "compares the networks of the twins of several DGX Sparks: each joins the same twin of two ports that a cable joins, and in a mesh or ring none is wider than the " +
			"24 bits that NCCL compares, nor has the same 24 as another",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseAddressConflict,
		Reference: "DGX Spark Networking, 3-node mesh; NCCL 2.30.7, NCCL_IB_SUBNET_AWARE_ROUTING and NCCL_IB_SUBNET_PREFIX_LEN",
		Facts:     []string{fabric.FactNICAddresses, fabric.FactNetworkFiles},
		Scope:     []Condition{withoutTwins(), onSpark()},
		Cluster:   judgeSparkLinks,
	}
}

// sparkFabric is how the Sparks among the nodes are cabled. A plan's own cables are compared by the rule cabling.
func sparkFabric(in ClusterInput) (f spark.Fabric, why string) {
	var nodes []spark.Spark
	for i := range in.Nodes {
		if s := in.Nodes[i].Spark; s != nil {
			nodes = append(nodes, *s)
		}
	}
	f = spark.Of(nodes)
	switch {
	case len(nodes) < 2:
		return f, fmt.Sprintf("facts of %s were given: cables join two", fabric.Count(len(nodes), "DGX Spark"))
	case f.Topology == spark.NoTopology:
		why = "which ports of " + fabric.Count(len(nodes), "DGX Spark") + " are cabled to which is unknown: no neighbour and no shared subnet"
		if len(f.Cables) > 0 {
			why = "the cables that were seen make neither a pair nor a ring nor a chain: " + spark.List(f.Cables)
		}
	}
	return f, why
}

func judgeSparkCabling(in ClusterInput) []Verdict {
	return judgeFaults(in, "a pair by one cable, a switch, or a ring in which each cable joins a p0 with a p1",
		spark.SamePort, spark.SecondCable, spark.NotClosed, spark.ForeignPeer)
}

func judgeSparkLinks(in ClusterInput) []Verdict {
	return judgeFaults(in, "a network for each twin of each cable, by the first 24 bits in a mesh or ring",
		spark.TwinsCrossed, spark.PortsCrossed, spark.SameTwenty4, spark.Wide, spark.Misplaced)
}

func judgeFaults(in ClusterInput, want string, kinds ...spark.FaultKind) []Verdict {
	f, why := sparkFabric(in)
	var out []Verdict
	for _, fault := range f.Faults {
		if slices.Contains(kinds, fault.Kind) {
			out = append(out, Verdict{
				Status: fabric.Fail, Subject: qsfp(fault.At[0].Node, fault.At[0].Port), Expected: want,
				Evidence: []fabric.Evidence{saw(fault.By, endList(fault.At))}, Why: fault.Say, Cost: fault.Cost, Fix: fault.Fix,
			})
		}
	}
	switch {
	case len(out) > 0:
		return out
	case why != "":
		return []Verdict{unknown(fabric.ClusterSubject(), why)}
	}
	v := pass(want, saw("LLDP, neighbour tables and addresses", string(f.Topology)+": "+orWord(spark.List(f.Cables), "all in one network")))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}

func endList(ends []spark.End) string {
	var words []string
	for _, e := range ends {
		words = addOnce(words, e.String())
	}
	return strings.Join(words, ", ")
}
