package diagnose

import "railwright.dev/railwright/internal/fabric"

// hostRules are of machines, drivers and hypervisors.
func hostRules() []textRule {
	return []textRule{
		{fabric.CauseNVLinkDegraded, plain, "nvlink fewerlinks+"},
		{fabric.CauseNVLinkDegraded, plain, "nvlink+ slow+ !misread"},
		{fabric.CauseNVLinkDegraded, plain, "nvlink+ trouble+"},
		{fabric.CauseNVLinkDegraded, likely, "nvlink- single"},
		{fabric.CauseNVLinkDegraded, plain, "nvlink linkdown+"},
		{fabric.CauseNVLinkDegraded, plain, "nvlink downword+"},
		{fabric.CauseFabricManager, plain, "fabricmanager-"},
		{fabric.CauseFabricManager, plain, "fabricmanager downword+"},
		{fabric.CauseFabricManager, plain, "fabricmanager wrong+"},
		{fabric.CauseFabricManager, plain, "fabricmanager trouble+"},
		{fabric.CauseFabricManager, plain, "fabricmanager unloaded"},
		{fabric.CauseFabricManager, likely, "fabricmanager+ !fine+"},
		{fabric.CauseFabricManager, -0.4, "fabricmanager+ fine+"},
		{fabric.CauseGPUDriver, plain, "gpufault+ !fabricmanager !esxi"},
		{fabric.CauseGPUDriver, plain, "gpudriver trouble"},
		{fabric.CauseGPUDriver, plain, "gpudriver unloaded+"},
		{fabric.CauseGPUDriver, likely, "gpudriver-"},
		{fabric.CauseGPUThrottled, plain, "throttle+ !cpuword !clockfull"},
		{fabric.CauseGPUThrottled, hint, "throttle+"},
		{fabric.CauseCPUAffinity, plain, "throttle+ cpuword"},
		{fabric.CauseGPUThrottled, -0.6, "throttle-"},
		{fabric.CauseESXiDriverUnloaded, plain, "esxi+ unloaded"},
		{fabric.CauseESXiDriverUnloaded, plain, "esxi-"},
		{fabric.CauseESXiDriverUnloaded, plain, "esxi empty"},
		{fabric.CauseSRIOVLeftOn, plain, "sriov+ passthrough"},
		{fabric.CauseSRIOVLeftOn, plain, "vf passthrough trouble+"},
		{fabric.CauseSRIOVLeftOn, likely, "sriov+ !fine+ !vf !harmless"},
		{fabric.CauseSRIOVLeftOn, -0.6, "sriov- !passthrough"},
		{fabric.CauseSRIOVLeftOn, plain, "sriov passthrough"},
		{fabric.CauseNumaBalancing, plain, "numabalancing+"},
		{fabric.CauseNumaBalancing, likely, "numabalancing- fixed+"},
		{fabric.CauseNumaBalancing, -0.6, "numabalancing- !fixed"},
		{fabric.CauseCPUAffinity, plain, "affinity+ wrong+"},
		{fabric.CauseCPUAffinity, plain, "affinity-"},
		{fabric.CauseCPUAffinity, likely, "affinity+ !fine+"},
		{fabric.CauseCPUAffinity, likely, "latency high+"},
		{fabric.CauseCPUAffinity, likely, "small slow+"},
		{fabric.CauseCPUAffinity, faint, "platform"},
		{fabric.CauseMemlock, plain, "memlock+ !fine+ !unlimited"},
		{fabric.CauseMemlock, plain, "memlock-"},
		{fabric.CauseMemlock, plain, "regmr+ !gdr !gpumemory !peermem"},
		{fabric.CauseMemlock, faint, "regmr+"},
		{fabric.CauseGDRDisabled, hint, "regmr+ gpumemory"},
		{fabric.CauseDriverABI, plain, "abi+"},
		{fabric.CauseDriverConflict, plain, "symbols+"},
	}
}

// libraryRules are of NCCL, its plugins, the tests and how they were started.
func libraryRules() []textRule {
	return []textRule{
		{fabric.CauseSocketFallback, plain, "socket+"},
		{fabric.CauseSocketFallback, plain, "ibnone+"},
		{fabric.CauseSocketFallback, plain, "netib-"},
		{fabric.CauseSocketFallback, likely, "rdmause-"},
		{fabric.CauseSocketFallback, -0.7, "socket-"},
		{fabric.CauseSocketFallback, -0.6, "netib+ !trouble !ibnone"},
		{fabric.CauseSocketFallback, -0.6, "gdr+ !trouble !onlywith"},
		{fabric.CauseHCASubset, plain, "subset+ !twin !route !onerail"},
		{fabric.CauseHCASubset, likely, "hcavar wrong+"},
		{fabric.CauseHCASubset, likely, "hcavar forced"},
		{fabric.CauseHCASubset, -0.6, "subset-"},
		{fabric.CauseHCASubset, likely, "hca wrong+ forced"},
		{fabric.CauseLibraryBuild, plain, "build+ !fine+ !plugin-"},
		{fabric.CauseLibraryBuild, plain, "build fixed"},
		{fabric.CauseLibraryBuild, likely, "build+"},
		{fabric.CauseNetPlugin, plain, "plugin- "},
		{fabric.CauseNetPlugin, plain, "plugin trouble"},
		{fabric.CauseNetPlugin, plain, "plugin+ wrong+"},
		{fabric.CauseNetPlugin, likely, "plugin+ slow+"},
		{fabric.CauseNetPlugin, likely, "plugin fixed"},
		{fabric.CauseNetPlugin, plain, "ece+"},
		{fabric.CauseNetPlugin, plain, "chunk+"},
		{fabric.CauseMPINotBuilt, plain, "banner+"},
		{fabric.CauseMPINotBuilt, plain, "mpibuild"},
		{fabric.CauseMPINotBuilt, likely, "zero+"},
		{fabric.CauseLibraryBuild, -0.9, "mpibuild"},
		{fabric.CauseLibraryBuild, -0.9, "banner+"},
	}
}

// settingTextRules are of settings in the environment.
func settingTextRules() []textRule {
	return []textRule{
		{fabric.CauseNCCLSettings, plain, "settings+ slow+"},
		{fabric.CauseNCCLSettings, plain, "settings+ forced"},
		{fabric.CauseNCCLSettings, likely, "settings+ !fine+ !same !misread !abovewire"},
		{fabric.CauseEnvNotForwarded, 0.85, "noforward+"},
		{fabric.CauseEnvNotForwarded, plain, "forward- !fine+"},
		{fabric.CauseEnvNotForwarded, plain, "variables partly"},
		{fabric.CauseEnvNotForwarded, plain, "settings partly"},
		{fabric.CauseEnvNotForwarded, plain, "headnode+ othernode+ asset+ !slow+ !trouble+"},
		{fabric.CauseEnvNotForwarded, likely, "othernode asset settings"},
		{fabric.CauseEnvNotForwarded, 0.85, "variables reach-"},
		{fabric.CauseP2PChannels, plain, "p2pchannels+"},
		{fabric.CauseP2PChannels, likely, "alltoall slow+ allreduce fine+"},
		{fabric.CauseP2PChannels, hint, "alltoall slow+ !chunk"},
	}
}

// shapeRules are of what a curve looks like.
func shapeRules() []textRule {
	return []textRule{
		{fabric.CauseTreeArtefact, 0.85, "abovewire+ tree"},
		{fabric.CauseTreeArtefact, plain, "abovewire+"},
		{fabric.CauseTreeArtefact, plain, "morethan+ wire !perftest"},
		{fabric.CauseTreeArtefact, likely, "morethan+ hca !perftest !subset !slow"},
		{fabric.CauseTreeArtefact, plain, "tree misread+"},
		{fabric.CauseTreeArtefact, plain, "tree+ ring+"},
		{fabric.CauseTreeArtefact, likely, "tree+ slow+"},
		{fabric.CauseTreeArtefact, likely, "misread+"},
		{fabric.CauseFirstUse, plain, "firstuse+"},
		{fabric.CauseFirstUse, plain, "firstuse+ inplace"},
		{fabric.CauseFirstUse, likely, "inplace+"},
		{fabric.CauseLibraryBuild, hint, "sizeless+"},
		{fabric.CauseSocketFallback, 0.3, "sizeless+"},
		{fabric.CauseNetPlugin, faint, "sizeless+"},
	}
}
