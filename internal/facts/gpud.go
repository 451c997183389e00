package facts

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Lines of gpud scan about the NVLink fabric, which has a table per host with a block for each GPU:
//
//	✔ NVIDIA-GB200 checked fabric state
//	| GPU UUID                | GPU-00000000-0000-0000-0000-000000000000 |
//	| State                   | Completed                                |
var (
	gpudTitle = pattern.New(`^\S* ?(\S+) checked fabric state$`)
	gpudRow   = pattern.New(`^\| (GPU UUID|Clique ID|Cluster UUID|State|Status|Health Summary|Bandwidth|Route Recovery|Route Unhealthy|Access Timeout Recovery) +\| (.*?) *\|$`)
)

func isGpudLine(line string) bool {
	return strings.HasPrefix(line, "| GPU UUID ") && gpudRow().MatchString(line) || strings.HasSuffix(line, " checked fabric state") && gpudTitle().MatchString(line)
}

func knowsGpud(text string) bool { return hasLine(text, gpudRow().MatchString) }

// parseGpud reads the fabric state of each GPU. The title names their model.
func parseGpud(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := gpudTitle().FindStringSubmatch(line); m != nil {
			name = fabric.Printable(m[1])
		}
		m := gpudRow().FindStringSubmatch(line)
		if m == nil || len(f.GPUs) > maxDevices {
			continue
		}
		value := fabric.Printable(m[2])
		if m[1] == "GPU UUID" {
			f.GPUs = append(f.GPUs, fabric.GPU{Vendor: "nvidia", Name: name, UUID: value, Health: &fabric.GPUHealth{Fabric: &fabric.GPUFabric{}}})
		}
		if len(f.GPUs) == 0 {
			continue
		}
		state := f.GPUs[len(f.GPUs)-1].Health.Fabric
		switch m[1] {
		case "State":
			state.State = value
		case "Status":
			state.Status = value
		case "Health Summary":
			state.Health = value
		}
	}
	for _, g := range f.GPUs {
		if g.Health.Fabric.State != "" {
			return f, nil
		}
	}
	return fabric.Facts{}, errForeignText
}
