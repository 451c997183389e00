package facts

import (
	"context"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/spark"
)

// Where a DGX Spark says whether it takes its NIC from PCI while no cable is plugged: the switch of the owner, and the driver.
const (
	hotPlugSwitch = "/etc/nvidia/cx7-hotplug-enabled"
	hotPlugDriver = "/sys/bus/platform/drivers/cx7-pcie-hotplug"
	hotPlugTool   = "cx7-pcie-hotplug"
)

// readSpark reads what matters on a DGX Spark only, whose network people set up by themselves: elsewhere it would be asked of
// every host, and missed in every recording that is older than this.
func readSpark(ctx context.Context, h host.Host, f *fabric.Facts) {
	if n := spark.Read(f); n.Known != spark.Proven {
		return
	}
	readNetplan(ctx, h, f)
	readNCCLConf(ctx, h, f)
	readHotPlug(ctx, h, f)
}

// readHotPlug asks the driver and then the file. On all other machines there is neither, and nothing is missing.
func readHotPlug(_ context.Context, h host.Host, f *fabric.Facts) {
	devices, err := h.ReadDir(hotPlugDriver)
	if err == nil {
		for _, d := range devices {
			if text, err := host.ReadString(h, hotPlugDriver+"/"+d+"/pcie_hotplug/hotplug_enabled"); err == nil {
				f.Machine.HotPlug = hotPlugOf(text)
			}
		}
	}
	if f.Machine.HotPlug != nil {
		return
	}
	text, err := host.ReadString(h, hotPlugSwitch)
	switch {
	case err == nil:
		f.Machine.HotPlug = hotPlugOf(text)
	case !host.IsAbsent(err):
		miss(f, fabric.FactMachineHotPlug, hotPlugSwitch, err)
	}
}

func hotPlugOf(text string) *fabric.HotPlug {
	switch strings.TrimSpace(text) {
	case "0", "N", "n", "false":
		return &fabric.HotPlug{Enabled: new(false)}
	case "1", "Y", "y", "true":
		return &fabric.HotPlug{Enabled: new(true)}
	}
	return nil
}

// isHotPlugCommand reports whether a command shows one of the two.
func isHotPlugCommand(command string) bool {
	return strings.Contains(command, "hotplug_enabled") || strings.Contains(command, hotPlugSwitch)
}

func knowsHotPlug(text string) bool { return strings.HasPrefix(text, hotPlugTool+": ") }

// parseHotPlug reads what Outputs writes for such a command.
func parseHotPlug(text, _ string) (fabric.Facts, error) {
	value := strings.TrimPrefix(strings.TrimSpace(text), hotPlugTool+": ")
	if p := hotPlugOf(value); p != nil {
		return fabric.Facts{Machine: fabric.Machine{HotPlug: p}}, nil
	}
	return fabric.Facts{}, errForeignText
}

// hotPlugEvents reads the driver's lines in the kernel's log; nil: there are none.
func hotPlugEvents(lines []string) *fabric.HotPlug {
	var p *fabric.HotPlug
	for _, line := range lines {
		_, said, ok := strings.Cut(line, hotPlugTool)
		if !ok {
			continue
		}
		if p == nil {
			p = &fabric.HotPlug{}
		}
		switch {
		case strings.Contains(said, "Hotplug enabled"):
			p.Enabled = new(true)
		case strings.Contains(said, "Hotplug disabled"):
			p.Enabled = new(false)
		case strings.Contains(said, "Cable plugin"):
			p.Last = "plugin"
		case strings.Contains(said, "Cable removal"):
			p.Last = "removal"
		}
	}
	return p
}
