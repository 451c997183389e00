package check

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// Filters of the cases of the rule firewall. The fabric of the cases is within 10.64.0.0/10.

func toFabric() fabric.FilterRule      { return from("10.64.0.0/10") }
func fromElsewhere() fabric.FilterRule { return from("192.168.0.0/16") }
func fromOneHost() fabric.FilterRule   { return from("10.64.0.1/32") }
func byEth1() fabric.FilterRule        { return fabric.FilterRule{NICs: []string{"eth1"}, Do: "accept"} }
func byAnyEth() fabric.FilterRule      { return fabric.FilterRule{NICs: []string{"eth*"}, Do: "accept"} }
func dropAll() fabric.FilterRule       { return fabric.FilterRule{Do: "drop"} }

func from(subnet string) fabric.FilterRule {
	return fabric.FilterRule{From: []netip.Prefix{netip.MustParsePrefix(subnet)}, Do: "accept"}
}

func jump(to string) fabric.FilterRule { return fabric.FilterRule{Do: "jump t " + to} }

func input(policy string, rules ...fabric.FilterRule) fabric.Filter {
	return fabric.Filter{Tool: "nft", Name: "t input", Hook: "input", Policy: policy, Rules: rules}
}

func chain(name string, rules ...fabric.FilterRule) fabric.Filter {
	return fabric.Filter{Tool: "nft", Name: "t " + name, Rules: rules}
}

func filters(chains ...fabric.Filter) func(*world) {
	return func(w *world) { w.host1().Firewall.Chains = chains }
}

func readBy(tools ...string) func(*world) {
	return func(w *world) { w.host1().Firewall.Read = tools }
}
