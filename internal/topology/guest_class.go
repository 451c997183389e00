package topology

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
)

// guestBus is the bus of the devices in the virtual machine of "Deploy Distributed LLM Inference with GPUDirect RDMA over
// InfiniBand in VMware Private AI", appendix I: they follow each other there in the order in which they are attached.
const guestBus = "0000:04:"

// GuestOfClass is a virtual machine with devices of a machine of the catalog: their hardware labels in the order in which they
// are attached, GPU0 for the machine's first GPU, NIC0 for its first NIC. It has the addresses of the document, which another
// version of virtual hardware may not give: the facts of the virtual machine tell (Guest).
func GuestOfClass(cat *catalog.Catalog, machine string, labels []string) (*Machine, error) {
	host, err := Nominal(cat, machine)
	if err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for i, g := range host.GPUs {
		addresses["GPU"+strconv.Itoa(i)] = g.Bus
	}
	for i, n := range host.NICs {
		addresses["NIC"+strconv.Itoa(i)] = n.Bus
	}
	var guest []GuestDevice
	nics := 0
	for i, label := range labels {
		if addresses[label] == "" {
			continue // an NVSwitch, which the machines of the catalog do not list: the links of GPUs end in one that is not seen
		}
		d := GuestDevice{Kind: KindGPU, Bus: fmt.Sprintf("%s%02x.0", guestBus, i), IDs: []string{label}}
		if strings.HasPrefix(label, "NIC") {
			d.Kind, d.Name = KindNIC, "mlx5_"+strconv.Itoa(nics)
			nics++
		}
		guest = append(guest, d)
	}
	return Guest(host, guest, addresses)
}
