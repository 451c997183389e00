package nic

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Files of NVIDIA's driver from OFED and DOCA (mlx5_core, en_ecn.c; mlx5_ib, tc): below /sys/class/net/NIC/ecn whether
// notifications are sent (roce_np) and heeded (roce_rp) by priority, and how they are marked; below
// /sys/class/infiniband/DEVICE/tc/1 the traffic class (DSCP times 4 and two ECN bits) that RDMA packets get whatever the
// application asks for. The kernel's own driver has the marking of notifications in debugfs
// (/sys/kernel/debug/mlx5/PCI/cc_params).

// Mlx5ECNFiles are the files below /sys/class/net/NIC/ecn.
func Mlx5ECNFiles() []string {
	out := []string{"roce_np/cnp_dscp", "roce_np/cnp_802p_prio"}
	for p := range priorities {
		out = append(out, "roce_np/enable/"+strconv.Itoa(p), "roce_rp/enable/"+strconv.Itoa(p))
	}
	return out
}

// Mlx5DebugFiles are the files below /sys/kernel/debug/mlx5/PCI/cc_params.
func Mlx5DebugFiles() []string { return []string{"np_cnp_dscp", "np_cnp_prio"} }

// ReadMlx5 reads files of any of the three folders, by their names there, traffic_class included. An absent one is unknown.
func ReadMlx5(files map[string]string) (fabric.QoS, error) {
	var q fabric.QoS
	value := func(most int, names ...string) (*int, error) {
		for _, name := range names {
			if text, ok := files[name]; ok {
				n, err := readNumber(strings.TrimSpace(text), most)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				return &n, nil
			}
		}
		return nil, nil
	}
	dscp, err := value(maxDSCP, "roce_np/cnp_dscp", "np_cnp_dscp")
	if err != nil {
		return q, err
	}
	priority, err := value(priorities-1, "roce_np/cnp_802p_prio", "np_cnp_prio")
	if err != nil {
		return q, err
	}
	q.CNP = marking(dscp, priority)
	list := []int{}
	for p := range priorities {
		np, err := value(1, "roce_np/enable/"+strconv.Itoa(p))
		if err != nil {
			return q, err
		}
		rp, err := value(1, "roce_rp/enable/"+strconv.Itoa(p))
		if err != nil {
			return q, err
		}
		if np == nil || rp == nil {
			list = nil
			break
		}
		if *np == 1 && *rp == 1 {
			list = append(list, p)
		}
	}
	if list != nil {
		q.ECN = &list
	}
	if text, ok := files["traffic_class"]; ok {
		if q.RoCE, err = trafficClass(text); err != nil {
			return fabric.QoS{}, err
		}
	}
	return q, nil
}

// mostToS is in a byte of the IP header: six bits of DSCP and two of ECN (RFC 2474, RFC 3168).
const mostToS = 255

var tclassLine = pattern.Plain(`^(?:Global )?(?:tclass=)?([0-9]+)\s*$`)

// trafficClass reads "Global tclass=106"; nothing is in the file while none is set, which is a marking
// without values.
func trafficClass(text string) (*fabric.Marking, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return &fabric.Marking{}, nil // none is set: the application decides
	}
	first, _, _ := strings.Cut(text, "\n")
	m := tclassLine().FindStringSubmatch(first)
	if m == nil {
		return nil, fmt.Errorf("traffic_class: %q is no traffic class", fabric.Printable(first))
	}
	return tosMarking(m[1])
}

func tosMarking(text string) (*fabric.Marking, error) {
	tos, err := readNumber(text, mostToS)
	if err != nil {
		return nil, fmt.Errorf("traffic class: %w", err)
	}
	dscp := tos >> 2
	return &fabric.Marking{DSCP: &dscp}, nil
}

// mlx5Files reads those files as grep and scripts print them: "PATH = 1", "PATH:1".
func mlx5Files() Reader {
	return Reader{
		Name:   "mlx5 files",
		Signs:  []string{"/sys/class/"},
		Begins: isMlx5File,
		GoesOn: isMlx5File,
		Read:   readMlx5Files,
	}
}

var (
	ecnPath    = pattern.Plain(`/sys/class/net/([^/\s:]+)/ecn/(roce_(?:np/cnp_dscp|np/cnp_802p_prio|(?:np|rp)/enable/[0-7]))\s*[:=]\s*(\S+)\s*$`)
	tclassPath = pattern.Plain(`/sys/class/infiniband/([^/\s:]+)/tc/1/(traffic_class)\s*[:=]\s*(\S.*?)\s*$`)
	tclassSet  = pattern.Plain(`^\+ .*\becho (?:-n )?["']?([0-9]+)["']? *> *["']?/sys/class/infiniband/([^/\s'"]+)/tc/1/traffic_class`)
)

func isMlx5File(line string) bool {
	return strings.Contains(line, "/sys/class/") && (ecnPath().MatchString(line) || tclassPath().MatchString(line) || tclassSet().MatchString(line))
}

func readMlx5Files(text, _ string) ([]Reading, error) {
	type key struct{ nic, rdma string }
	files, order := map[key]map[string]string{}, []key{}
	add := func(k key, name, value string) error {
		if files[k] == nil {
			files[k] = map[string]string{}
			order = append(order, k)
		}
		if have, ok := files[k][name]; ok && have != value {
			return fmt.Errorf("contradicts itself: %s is %s and %s", name, fabric.Printable(have), fabric.Printable(value))
		}
		files[k][name] = value
		return nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		var err error
		if m := ecnPath().FindStringSubmatch(line); m != nil && isInterface(m[1]) {
			err = add(key{nic: m[1]}, m[2], m[3])
		} else if m := tclassPath().FindStringSubmatch(line); m != nil && rdmaDevice().MatchString(m[1]) {
			err = add(key{rdma: m[1]}, m[2], m[3])
		} else if m := tclassSet().FindStringSubmatch(line); m != nil && rdmaDevice().MatchString(m[2]) {
			err = add(key{rdma: m[2]}, "traffic_class", m[1])
		}
		if err != nil {
			return nil, err
		}
	}
	var out []Reading
	for _, k := range order {
		q, err := ReadMlx5(files[k])
		if err != nil {
			return nil, err
		}
		out = append(out, Reading{Interface: k.nic, RDMA: k.rdma, QoS: q})
	}
	if len(out) == 0 {
		return nil, errForeign
	}
	return out, nil
}

const cmaProgram = "cma_roce_tos"

// cmaRoCEToS reads cma_roce_tos -d mlx5_0: the type of service of connections that the connection manager makes. It makes a
// folder of configfs to read it, so that it is not run here.
func cmaRoCEToS() Reader {
	return Reader{
		Name:   cmaProgram,
		Signs:  []string{cmaProgram},
		Begins: func(line string) bool { return strings.HasPrefix(line, "+ ") && strings.Contains(line, cmaProgram) },
		GoesOn: func(line string) bool { return cmaValue().MatchString(line) },
		Read:   readCMA,
	}
}

var cmaValue = pattern.Plain(`^([0-9]{1,3})\s*$`)

func readCMA(text, _ string) ([]Reading, error) {
	var out []Reading
	for _, c := range commands(text, cmaProgram) {
		if c.program() != cmaProgram || len(c.lines) == 0 {
			continue
		}
		m, device := cmaValue().FindStringSubmatch(c.lines[0]), c.option("-d")
		if m == nil || !rdmaDevice().MatchString(device) {
			continue
		}
		roce, err := tosMarking(m[1])
		if err != nil {
			return nil, err
		}
		out = append(out, Reading{RDMA: device, QoS: fabric.QoS{RoCE: roce}})
	}
	if len(out) == 0 {
		return nil, errForeign
	}
	return out, nil
}
