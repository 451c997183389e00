package claims

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// The kinds of devices that alignment is about.
const (
	kindGPU       = "gpu"
	kindNIC       = "nic"
	kindPartition = "partition" // of a GPU: counted as neither
)

// placed is what a driver says of a device: what it is, and where it is in the machine.
type placed struct {
	kind  string   // kindGPU, kindNIC, kindPartition; empty: another one, or not known
	other bool     // known to be another one: a NIC without RDMA
	pci   string   // domain:bus:device.function
	roots []string // PCIe root complexes, sorted; none where the driver publishes none
	list  bool     // the driver publishes a list of roots
	numa  *int
}

// attributeNamed finds an attribute by its plain id, whatever its domain: that of Kubernetes first, then that of the
// driver, then others in the order of their names.
func attributeNamed(driver string, d *resourceapi.Device, ids ...string) (resourceapi.DeviceAttribute, bool) {
	for _, id := range ids {
		var found []string
		for name := range d.Attributes {
			if plainID(string(name)) == id {
				found = append(found, string(name))
			}
		}
		if len(found) == 0 {
			continue
		}
		slices.SortFunc(found, func(a, b string) int {
			if ra, rb := domainRank(a, driver), domainRank(b, driver); ra != rb {
				return ra - rb
			}
			return strings.Compare(a, b)
		})
		return d.Attributes[resourceapi.QualifiedName(found[0])], true
	}
	return resourceapi.DeviceAttribute{}, false
}

func domainRank(name, driver string) int {
	domain, _, found := strings.Cut(name, "/")
	switch {
	case found && domain == "resource.kubernetes.io":
		return 0
	case !found || domain == driver:
		return 1
	}
	return 2
}

// plainID is an attribute's name without domain, underscores and case: drivers write numaNode, numa_node.
func plainID(name string) string {
	if _, id, found := strings.Cut(name, "/"); found {
		name = id
	}
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}

// stringsOf are the strings of an attribute: one, or a list.
func stringsOf(a resourceapi.DeviceAttribute) []string {
	if a.StringValue != nil {
		return []string{*a.StringValue}
	}
	return a.StringValues
}

// place reads what alignment needs from a device.
func place(driver string, d *resourceapi.Device) placed {
	p := placed{kind: kindOf(driver, d), pci: pciAddress(driver, d)}
	if a, ok := attributeNamed(driver, d, "rdma"); ok && p.kind == "" {
		p.other = a.BoolValue != nil
	}
	if a, ok := attributeNamed(driver, d, "pcieroot"); ok {
		p.list = a.StringValue == nil
		for _, root := range stringsOf(a) {
			if isRoot(root) && !slices.Contains(p.roots, root) {
				p.roots = append(p.roots, root)
			}
		}
		slices.Sort(p.roots)
	}
	if a, ok := attributeNamed(driver, d, "numanode", "numa"); ok && a.IntValue != nil && *a.IntValue >= 0 && *a.IntValue < 1<<16 {
		numa := int(*a.IntValue)
		p.numa = &numa
	}
	return p
}

// isRoot tells the name of a PCIe root complex as Linux's sysfs has it: pci0000:3a, with up to 8 digits of domain.
func isRoot(s string) bool {
	rest, found := strings.CutPrefix(s, "pci")
	domain, bus, colon := strings.Cut(rest, ":")
	return found && colon && len(domain) >= 4 && len(domain) <= 8 && len(bus) == 2 && isHex(domain) && isHex(bus)
}

func isHex(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) < 0
}

// pciAddress is the address of a device, under whatever name its driver publishes it, empty where there is none.
// NVIDIA: pciBusID, DraNet: pciAddress (earlier in four parts), AMD: pciAddr, HAMi: pcieBusID.
func pciAddress(driver string, d *resourceapi.Device) string {
	if a, ok := attributeNamed(driver, d, "pcibusid", "pciaddress", "pciaddr", "pciebusid", "pcieaddress"); ok && a.StringValue != nil {
		return strings.ToLower(*a.StringValue)
	}
	var parts []string
	for _, id := range []string{"pciaddressdomain", "pciaddressbus", "pciaddressdevice", "pciaddressfunction"} {
		a, ok := attributeNamed(driver, d, id)
		if !ok || a.StringValue == nil {
			return ""
		}
		parts = append(parts, strings.ToLower(*a.StringValue))
	}
	return fmt.Sprintf("%s:%s:%s.%s", parts[0], parts[1], parts[2], parts[3])
}

// kindOf tells GPUs and NICs by the driver and by what it publishes. A NIC that does not do RDMA is none here: NCCL's
// traffic between machines does not use it.
func kindOf(driver string, d *resourceapi.Device) string {
	devType := ""
	if a, ok := attributeNamed(driver, d, "type"); ok && a.StringValue != nil {
		devType = strings.ToLower(*a.StringValue)
	}
	switch devType {
	case "gpu", "amdgpu", "hami-gpu":
		return kindGPU
	case "mig", "amdgpu-partition", "partition":
		return kindPartition
	}
	// DraNet: rdma, the SR-IOV driver of k8snetworkplumbingwg: rdmaCapable.
	if a, ok := attributeNamed(driver, d, "rdma", "rdmacapable"); ok && a.BoolValue != nil {
		if *a.BoolValue {
			return kindNIC
		}
		return ""
	}
	if a, ok := attributeNamed(driver, d, "rdmadevice"); ok && a.StringValue != nil && *a.StringValue != "" {
		return kindNIC
	}
	if devType == "" && (strings.HasPrefix(driver, "gpu.")) {
		return kindGPU
	}
	return ""
}

// deviceInside describes a text that is the inside of one device, empty where it is none.
func deviceInside(text []byte) string {
	var d resourceapi.Device
	if json.Unmarshal(text, &d) != nil || len(d.Attributes) == 0 {
		return ""
	}
	p := place("", &d)
	words := []string{number(int64(len(d.Attributes)), "attribute")}
	if p.pci != "" {
		words = append(words, "PCI "+p.pci)
	}
	if len(p.roots) > 0 {
		words = append(words, "root "+strings.Join(p.roots, ", "))
	}
	return strings.Join(words, ", ")
}

// attributeText is the value of an attribute for people.
func attributeText(a resourceapi.DeviceAttribute) string {
	switch {
	case a.StringValue != nil:
		return fmt.Sprintf("%q", *a.StringValue)
	case a.IntValue != nil:
		return fmt.Sprint(*a.IntValue)
	case a.BoolValue != nil:
		return fmt.Sprint(*a.BoolValue)
	case a.VersionValue != nil:
		return *a.VersionValue
	}
	return strings.Join(attributeValues(a), ", ")
}

// attributeValues are the values that matchAttribute compares: one, or those of a list. The type is a part of them:
// the string "1" is not the number 1.
func attributeValues(a resourceapi.DeviceAttribute) (values []string) {
	switch {
	case a.StringValue != nil:
		return []string{fmt.Sprintf("%q", *a.StringValue)}
	case a.IntValue != nil:
		return []string{fmt.Sprintf("%d", *a.IntValue)}
	case a.BoolValue != nil:
		return []string{fmt.Sprintf("%t", *a.BoolValue)}
	case a.VersionValue != nil:
		return []string{"version " + *a.VersionValue}
	}
	set := map[string]bool{}
	for _, v := range a.StringValues {
		set[fmt.Sprintf("%q", v)] = true
	}
	for _, v := range a.IntValues {
		set[fmt.Sprintf("%d", v)] = true
	}
	for _, v := range a.BoolValues {
		set[fmt.Sprintf("%t", v)] = true
	}
	for _, v := range a.VersionValues {
		set["version "+v] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// fullAttribute finds an attribute by its full name: as it is published, or without the domain of its driver.
func fullAttribute(driver string, d *resourceapi.Device, name string) (resourceapi.DeviceAttribute, bool) {
	if a, ok := d.Attributes[resourceapi.QualifiedName(name)]; ok {
		return a, true
	}
	domain, id, found := strings.Cut(name, "/")
	if !found || domain != driver {
		return resourceapi.DeviceAttribute{}, false
	}
	a, ok := d.Attributes[resourceapi.QualifiedName(id)]
	return a, ok
}

// referenced are the attributes that an expression names, with their domains, sorted.
func referenced(expression string) (names []string) {
	form := regexp.MustCompile(`device\.(?:attributes|capacity)\[\s*["']([^"']+)["']\s*\]\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*["']([A-Za-z_]\w*)["']\s*\])`)
	for _, m := range form.FindAllStringSubmatch(expression, -1) {
		name := m[1] + "/" + m[2] + m[3]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
