package topology

import "slices"

// lintRules are all rules that judge one file, in the order in which they are told.
func lintRules() []lintRule {
	return slices.Concat(textRules(), attributeRules(), pciRules(), deviceRules(), systemRules())
}
