package check

// Rules are all checks. A rule stands after those that it depends on; cluster rules stand last.
func Rules() []Rule {
	return []Rule{
		nicPresent(),
		linkUp(),
		mtu(),
		oneSubnet(),
		address(),
		sourceRule(),
		railRoute(),
		ruleShadow(),
		cabling(),
		rdmaDevice(),
		portState(),
		pcieLink(),
		acs(),
		numaBalancing(),

		factsCollected(),
		mtuEqual(),
		duplicateAddress(),
	}
}
