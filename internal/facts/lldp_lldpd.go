package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	lldpdSocket = "/run/lldpd.socket"
	// lldpcliTime is far above what lldpd needs to answer on its own socket (some milliseconds).
	lldpcliTime = 5 * time.Second
)

// lldpdNeighbours asks lldpd; the error is fs.ErrNotExist where it does not run, and host.ErrNotSupported
// where no command can be run.
func lldpdNeighbours(ctx context.Context, h host.Host) ([]fabric.LLDPNeighbour, error) {
	names, err := h.ReadDir(path.Dir(lldpdSocket))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, path.Base(lldpdSocket)) {
		return nil, fs.ErrNotExist
	}
	c, ok := h.(host.Commander)
	if !ok {
		return nil, host.ErrNotSupported
	}
	ctx, cancel := context.WithTimeout(ctx, lldpcliTime)
	defer cancel()
	out, err := c.Output(ctx, host.Command{Argv: []string{"lldpcli", "-f", "json0", "show", "neighbors"}})
	if err != nil {
		return nil, err
	}
	return parseLLDPCLI(out)
}

// The json0 format of lldpcli: every element is a list, whatever its length.
type (
	lldpcliOutput struct {
		LLDP []struct {
			Interface []lldpcliInterface `json:"interface"`
		} `json:"lldp"`
	}
	lldpcliInterface struct {
		Name    string `json:"name"`
		Via     string `json:"via"`
		Chassis []struct {
			Name []lldpcliValue `json:"name"`
		} `json:"chassis"`
		Port []struct {
			ID    []lldpcliValue `json:"id"`
			Descr []lldpcliValue `json:"descr"`
		} `json:"port"`
	}
	lldpcliValue struct {
		Value string `json:"value"`
	}
)

// parseLLDPCLI reads the answer of lldpcli -f json0 show neighbors. What lldpd learned by another protocol
// (CDP, EDP) is left out.
func parseLLDPCLI(b []byte) ([]fabric.LLDPNeighbour, error) {
	var out lldpcliOutput
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("lldpcli: %w", err)
	}
	if out.LLDP == nil {
		return nil, fmt.Errorf(`lldpcli: no "lldp" in its answer`)
	}
	var found []fabric.LLDPNeighbour
	for _, l := range out.LLDP {
		for _, i := range l.Interface {
			if n := i.neighbour(); i.Via == "LLDP" && n.NIC != "" {
				found = append(found, n)
			}
		}
	}
	return found, nil
}

func (i lldpcliInterface) neighbour() fabric.LLDPNeighbour {
	n := fabric.LLDPNeighbour{NIC: fabric.Printable(i.Name), Source: "lldpd"}
	if len(i.Chassis) > 0 {
		n.System = firstValue(i.Chassis[0].Name)
	}
	if len(i.Port) > 0 {
		n.Port = firstValue(i.Port[0].ID)
		n.PortText = firstValue(i.Port[0].Descr)
	}
	return n
}

func firstValue(values []lldpcliValue) string {
	if len(values) == 0 {
		return ""
	}
	return fabric.Printable(values[0].Value)
}
