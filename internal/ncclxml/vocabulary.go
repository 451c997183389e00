package ncclxml

import "slices"

// ElementNames are the elements of a topology file (NVIDIA/nccl and ROCm/rccl, src/graph/xml.cc).
func ElementNames() []string {
	return []string{"system", "cpu", "pci", "gpu", "nvlink", "xgmi", "c2c", "nic", "net", "pcilink"}
}

// IsElement reports whether a name is that of such an element.
func IsElement(name string) bool { return slices.Contains(ElementNames(), name) }

// KnownAttributes are the attributes that NCCL or RCCL read or write on an element (src/graph/xml.cc,
// topo.cc); they ignore all others. keep is NCCL's own mark while it trims.
func KnownAttributes(element string) []string {
	switch element {
	case "system":
		return []string{"version", "name"}
	case "cpu":
		return []string{"numaid", "affinity", "affinity_offset", "arch", "vendor", "familyid", "modelid", "host_hash", "keep"}
	case "pci":
		return []string{"busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width", "keep"}
	case "gpu":
		return []string{"dev", "sm", "rank", "gdr", "mlopart", "gcn", "arch", "cu", "keep"}
	case "nvlink", "xgmi":
		return []string{"target", "count", "tclass"}
	case "c2c":
		return []string{"bw", "count"}
	case "net":
		return []string{"name", "dev", "speed", "port", "latency", "guid", "maxconn", "gdr", "coll", "net", "gin", "rma", "rail", "plane", "keep"}
	case "pcilink":
		return []string{"target"}
	case "nic":
		return []string{"keep"}
	}
	return nil
}

// AddedAttributes are those that NCCL itself sets on an element that it keeps, whatever the file states
// (ncclTopoGetSystem and ncclTopoPopulateNics of 2.28 to 2.30): they need one of the sixteen slots.
func AddedAttributes(element string) []string {
	switch element {
	case "cpu":
		return []string{"host_hash"}
	case "gpu":
		return []string{"keep", "rank", "gdr", "mlopart"}
	case "net":
		return []string{"keep", "dev", "latency", "speed", "port", "guid", "rail", "plane", "maxconn", "gdr", "net"}
	}
	return nil
}

// isLeaf reports whether NCCL knows no elements below this one.
func isLeaf(name string) bool {
	switch name {
	case "nvlink", "xgmi", "c2c", "net", "pcilink":
		return true
	}
	return false
}
