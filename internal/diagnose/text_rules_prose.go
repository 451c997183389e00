package diagnose

import "railwright.dev/railwright/internal/fabric"

// proseHostRules are of machines and of how a job was started.
func proseHostRules() []textRule {
	return []textRule{
		{fabric.CauseSlowNode, plain, "straggler+ onenode"},
		{fabric.CauseSlowNode, likely, "straggler+ !onegpu !onerail !tree"},
		{fabric.CauseSlowNode, plain, "allpartners+ onenode+ !fine+"},
		{fabric.CauseSlowNode, plain, "without fine+ onenode"},
		{fabric.CauseSlowNode, plain, "onenode fixed without"},
		{fabric.CauseSlowNode, plain, "onenode partly fine"},
		{fabric.CauseEnvNotForwarded, plain, "launcher variables vanishes+"},
		{fabric.CauseEnvNotForwarded, plain, "launcher variables trouble+"},
		{fabric.CauseEnvNotForwarded, plain, "variables remote vanishes+"},
		{fabric.CauseEnvNotForwarded, plain, "variables remote-"},
		{fabric.CauseEnvNotForwarded, plain, "variables- remote"},
		{fabric.CauseEnvNotForwarded, likely, "variables- launcher"},
		{fabric.CauseEnvNotForwarded, likely, "variables- onenode"},
		{fabric.CauseEnvNotForwarded, plain, "launcher remote vanishes+"},
		{fabric.CauseEnvNotForwarded, likely, "variables launcher remote"},
		{fabric.CauseEnvNotForwarded, likely, "variables launcher rest-"},
		{fabric.CauseEnvNotForwarded, plain, "headnode variables vanishes+"},
		{fabric.CauseGPUThrottled, plain, "compute slow+"},
		{fabric.CauseGPUThrottled, likely, "compute onegpu"},
		{fabric.CauseGPUThrottled, plain, "gpuclock slow+ !cpuword"},
		{fabric.CauseGPUThrottled, plain, "gpuclock wrong+ !cpuword"},
		{fabric.CauseGPUThrottled, hint, "gpuclock+ !clockfull !fine+ !cpuword"},
		{fabric.CauseGPUThrottled, plain, "throttle+ onegpu"},
		{fabric.CauseFabricManager, likely, "fabricmanager version"},
		{fabric.CauseSRIOVLeftOn, likely, "sriov+ passthrough+"},
		{fabric.CauseBenignVF, plain, "mad vf trouble !init !linkdown"},
		{fabric.CauseBenignVF, plain, "mad vm trouble fine"},
		{fabric.CauseBenignVF, plain, "mad vm trouble harmless"},
		{fabric.CauseBenignVF, plain, "mad- fine vm"},
		{fabric.CauseNICDegradedInit, plain, "rebooted fine+ !gpudriver !fabricmanager !route !esxi !linkdown"},
		{fabric.CauseLibraryBuild, likely, "perftest gpumemory-"},
		{fabric.CauseDriverABI, plain, "provider wrong+"},
		{fabric.CauseDriverABI, plain, "provider old+"},
		{fabric.CauseDriverABI, likely, "provider trouble+ !socket"},
		{fabric.CauseNetPlugin, plain, "plugin old+"},
		{fabric.CauseNetPlugin, plain, "plugin unloaded+"},
		{fabric.CauseNetPlugin, likely, "plugin slow fixed-"},
		{fabric.CauseIOMMUTranslated, likely, "iommu-"},
	}
}

// proseNetworkRules are of links, switches and the path between GPU and NIC.
func proseNetworkRules() []textRule {
	return []textRule{
		{fabric.CauseOversubscription, likely, "oneleaf high+ !latency"},
		{fabric.CauseOversubscription, likely, "oneleaf+ twoleaf+ !same !fine"},
		{fabric.CauseOversubscription, plain, "oneleaf fixed+"},
		{fabric.CauseSlowLink, likely, "optic fixed+ !lowrate"},
		{fabric.CauseSlowLink, likely, "optic linkerrors+"},
		{fabric.CauseSlowLink, likely, "optic trouble+ onerail"},
		{fabric.CausePortRateLow, likely, "optic old+"},
		{fabric.CausePortRateLow, plain, "lowrate+ port !downgraded !bond"},
		{fabric.CauseSocketFallback, plain, "management wrong hca"},
		{fabric.CauseSocketFallback, likely, "management picked+ !mtu !smallmtu !goodmtu"},
		{fabric.CauseBondHashing, plain, "bond hash+"},
		{fabric.CauseMTUMismatch, plain, "mtu drop"},
		{fabric.CauseMTUMismatch, plain, "mtu vanishes+"},
		{fabric.CauseMTUMismatch, hint, "small fine trouble"},
		{fabric.CauseMTUMismatch, 0.6, "small fine hang"},
		{fabric.CauseARPFlux, plain, "arp wrong+"},
		{fabric.CauseRouteMissing, likely, "route vanishes+"},
		{fabric.CauseLinkDown, plain, "optic- port"},
		{fabric.CauseVMTopologyMissing, plain, "vm hidden upstream"},
		{fabric.CauseVMTopologyMissing, plain, "vm upstream-"},
		{fabric.CauseVMTopologyMissing, likely, "vm locality affinity-"},
		{fabric.CauseGPUNICMisaligned, likely, "gpuword hca misaligned+"},
		{fabric.CauseGPUNICMisaligned, likely, "onegpu hca rest cpuword"},
		{fabric.CauseGDRDisabled, likely, "hostmemory staged+"},
		{fabric.CauseTopoXMLWrong, likely, "xml vanishes"},
	}
}
