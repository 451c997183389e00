package diagnose

import "railwright.dev/railwright/internal/fabric"

// topic is a thing that is hardly ever mentioned beside a fault without being part of it. People write down what
// they hold for relevant: that a text speaks of partition keys at all makes them more likely than any number does.
type topic struct {
	concept string
	cause   fabric.CauseID
	weight  float64
	absent  bool // it matters as well where the text says that it is not there
}

func topics() []topic {
	return []topic{
		{"pkey", fabric.CausePKeyMismatch, 0.5, true},
		{"acs", fabric.CauseACSRedirect, hint, false},
		{"ats", fabric.CauseATSDisabled, hint, true},
		{"peermem", fabric.CauseGDRDisabled, 0.3, true},
		{"bond", fabric.CauseBondHashing, hint, false},
		{"twin", fabric.CauseHalfPortTwin, hint, true},
		{"mtu", fabric.CauseMTUMismatch, hint, true},
		{"gid", fabric.CauseGIDIndex, hint, true},
		{"rocev1", fabric.CauseGIDIndex, hint, false},
		{"pfc", fabric.CauseRoCELossy, 0.3, true},
		{"ecn", fabric.CauseRoCELossy, 0.25, true},
		{"qosclass", fabric.CauseQoSClassMismatch, 0.3, true},
		{"dcbx", fabric.CauseFirmwareDCBX, 0.4, true},
		{"arp", fabric.CauseARPFlux, hint, true},
		{"route", fabric.CauseRouteMissing, 0.3, true},
		{"firewall", fabric.CauseFirewall, hint, false},
		{"sm", fabric.CauseSubnetManager, 0.3, true},
		{"virtualization", fabric.CauseSubnetManager, hint, true},
		{"oversub", fabric.CauseOversubscription, 0.3, false},
		{"leaf", fabric.CauseOversubscription, 0.2, false},
		{"onenode", fabric.CauseSlowNode, 0.2, false},
		{"straggler", fabric.CauseSlowNode, 0.3, false},
		{"twoleaf", fabric.CauseOversubscription, 0.25, false},
		{"cabling", fabric.CauseMiscabled, 0.3, false},
		{"linkerrors", fabric.CauseSlowLink, 0.3, false},
		{"switchos", fabric.CauseSwitchOSVersion, 0.4, false},
		{"esxi", fabric.CauseESXiDriverUnloaded, 0.4, true},
		{"sriov", fabric.CauseSRIOVLeftOn, 0.3, false},
		{"numabalancing", fabric.CauseNumaBalancing, 0.4, false},
		{"affinity", fabric.CauseCPUAffinity, 0.3, true},
		{"memlock", fabric.CauseMemlock, 0.5, true},
		{"fabricmanager", fabric.CauseFabricManager, 0.4, true},
		{"throttle", fabric.CauseGPUThrottled, 0.4, false},
		{"nvlink", fabric.CauseNVLinkDegraded, 0.25, true},
		{"xgmi", fabric.CauseXGMIModelUnmatched, 0.3, false},
		{"romemodel", fabric.CauseXGMIModelUnmatched, 0.4, true},
		{"interleaving", fabric.CauseHostMemoryInterleaving, 0.4, true},
		{"relaxed", fabric.CauseNICProfile, 0.4, true},
		{"readrequest", fabric.CauseNICProfile, 0.3, false},
		{"profile", fabric.CauseNICProfile, 0.3, true},
		{"iommu", fabric.CauseIOMMUTranslated, 0.25, false},
		{"topofile", fabric.CauseVMTopologyMissing, 0.25, true},
		{"flat", fabric.CauseVMTopologyMissing, 0.4, false},
		{"xml", fabric.CauseTopoXMLWrong, 0.3, false},
		{"misaligned", fabric.CauseGPUNICMisaligned, 0.4, false},
		{"ece", fabric.CauseNetPlugin, 0.4, false},
		{"plugin", fabric.CauseNetPlugin, 0.25, true},
		{"p2pchannels", fabric.CauseP2PChannels, 0.4, false},
		{"settings", fabric.CauseNCCLSettings, 0.25, false},
		{"noforward", fabric.CauseEnvNotForwarded, 0.4, false},
		{"mpibuild", fabric.CauseMPINotBuilt, 0.4, true},
		{"build", fabric.CauseLibraryBuild, 0.25, false},
		{"abi", fabric.CauseDriverABI, 0.4, false},
		{"symbols", fabric.CauseDriverConflict, 0.4, false},
		{"rebooted", fabric.CauseNICDegradedInit, 0.15, false},
	}
}

// topicWeights returns the causes that a text speaks of without a rule that understands what it says of them.
func topicWeights(st statement) []causeWeight {
	if st.names("fine+") && !st.names("trouble+") && !st.names("slow+") || st.names("same") || st.names("unlimited+") || st.names("oscontrolled+") || st.names("clockfull+") {
		return nil
	}
	var out []causeWeight
	for _, t := range topics() {
		inPlace := t.absent && st.names(t.concept+"+") && st.names("instate+") && !st.names("trouble+") && !st.names("slow+")
		if !inPlace && (st.names(t.concept+"+") || t.absent && st.names(t.concept)) {
			out = strongest(out, causeWeight{t.cause, t.weight})
		}
	}
	return out
}
