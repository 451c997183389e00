package topology

import (
	"errors"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// View is what is shown of a host: its tree where known, the distances, and which GPU uses which NIC.
type View struct {
	fabric.Meta
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Machine *Machine `json:"machine,omitempty"` // nil: only distances are known
	Matrix  Matrix   `json:"matrix"`
	Pairing Pairing  `json:"pairing"`
}

// ViewOf returns the view of a machine.
func ViewOf(m *Machine) *View {
	shown := *m // with lists where it has nothing, since JSON has them
	shown.CPUs, shown.GPUs, shown.NICs = append([]CPU{}, m.CPUs...), append([]GPU{}, m.GPUs...), append([]NIC{}, m.NICs...)
	for i := range shown.CPUs {
		shown.CPUs[i].Devices = append([]Device{}, shown.CPUs[i].Devices...)
	}
	return &View{Meta: fabric.NewMeta("Topology"), Name: m.Name, Source: m.Source, Machine: &shown, Matrix: m.Matrix(), Pairing: m.Pairing()}
}

// ReadView returns the view of the output of nvidia-smi topo -m or rocm-smi. The error has the formats that were tried.
func ReadView(name string, text []byte) (*View, error) {
	var failed []error
	for _, try := range []struct {
		source string
		mark   string // in every such text
		read   func(string) (Matrix, error)
	}{
		{"nvidia-smi topo -m", "GPU0", ReadNvidiaTopo},
		{"rocm-smi", "GPU[", ReadROCmSMI},
	} {
		x, err := try.read(string(text))
		if err == nil {
			return &View{Meta: fabric.NewMeta("Topology"), Name: name, Source: try.source, Matrix: x, Pairing: PairDevices(x)}, nil
		}
		if strings.Contains(string(text), try.mark) {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return nil, errors.New("not the output of nvidia-smi topo -m or rocm-smi")
}
