package manifestcheck

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/ncclenv"
	"railwright.dev/railwright/internal/pattern"
)

func ncclNameRule() Rule {
	return Rule{
		ID: "nccl-variable", Title: "every variable of NCCL or RCCL is one that it reads", Severity: fabric.SeverityWarning, Cause: fabric.CauseNCCLSettings,
		Doc:       "NCCL reads the names that it knows and says nothing of others: a misspelled one has no effect",
		Reference: "names read out of the libraries of NCCL " + ncclenv.Oldest + " to " + ncclenv.Newest + " and of RCCL's source (internal/ncclenv)",
		Judge: each(func(s scene) []fabric.Finding {
			all := s.settings()
			var out []fabric.Finding
			for _, name := range sortedKeys(all) {
				if _, known := ncclenv.Known(name); known || ncclenv.Beside(name) != "" || strings.Contains(name, "{") {
					continue
				}
				why := fmt.Sprintf("%s: NCCL %s to %s and RCCL read no such variable", name, ncclenv.Oldest, ncclenv.Newest)
				expected := "a variable that NCCL reads"
				if near := ncclenv.Nearest(name); len(near) > 0 {
					why += "; the nearest that they read: " + strings.Join(near, ", ")
					expected = near[0]
				}
				if strings.Contains(name, "EXCLUDE") {
					why += "; a list is excluded by ^ at its beginning: NCCL_IB_HCA=^..."
				}
				out = append(out, s.fail(fault{why: why, expected: expected, cost: "the line has no effect: NCCL keeps its default", fix: "correct the name, or take the line out", seen: []fabric.Evidence{s.at(all[name].Line, name+"="+all[name].Value)}}))
			}
			if len(out) == 0 && len(all) > 0 {
				return s.pass(fabric.Count(len(all), "known variable"))
			}
			return out
		}),
	}
}

func ncclValueRule() Rule {
	return Rule{
		ID: "nccl-value", Title: "every value is of the kind that NCCL reads", Severity: fabric.SeverityError, Cause: fabric.CauseNCCLSettings,
		Doc: "numbers are read by strtoll, so that true is 0; lists are split at commas and not trimmed, so that a blank makes a name that no device has", Reference: "NCCL src/misc/param.cc, ncclLoadParam; src/misc/utils.cc, parseStringList",
		Judge: each(func(s scene) []fabric.Finding {
			all := s.settings()
			var out []fabric.Finding
			judged := 0
			for _, name := range sortedKeys(all) {
				t := all[name]
				if t.Open {
					continue
				}
				judged++
				problem := problemOf(name, t.Value)
				if problem == "" {
					continue
				}
				f := fault{why: fmt.Sprintf("%s=%s: %s", name, t.Value, problem), expected: "a value as NCCL reads it", cost: "NCCL does something else than was meant", fix: "correct the value", seen: []fabric.Evidence{s.at(t.Line, name+"="+t.Value)}}
				if v, _ := ncclenv.Known(name); v.Kind == ncclenv.HCAs {
					f.cause, f.expected, f.cost = fabric.CauseHCASubset, "names with commas and nothing else between them", "only the devices whose names match are used: the others stand idle"
					f.fix = name + "=" + strings.Join(strings.FieldsFunc(t.Value, func(r rune) bool { return r == ',' || r == ' ' || r == ';' || r == '\t' }), ",")
				}
				out = append(out, s.fail(f))
			}
			if len(out) == 0 && judged > 0 {
				return s.pass(fabric.Count(judged, "value"))
			}
			return out
		}),
	}
}

// kernelName is what drivers call their RDMA devices, with a number (drivers/infiniband), those of images of clouds included
// (mlx5_ib0 and mlx5_an0 of Azure's HPC images); placeName is what udev makes of them: rdma_rename of rdma-core (link layer, then the PCI place or the GUID).
var (
	kernelName = pattern.Plain(`^(?:mlx[45]_(?:bond_?|ib|an)?|bnxt_re(?:_bond)?|ionic_|irdma|i40iw|efa_|mana_|hns_|erdma_|qedr|cxgb4_|hfi1_|mthca|ocrdma|rxe|siw|shca_|usnic_)_?[0-9]+$`)
	placeName  = pattern.Plain(`^(?:ib|roce|iw|opa|usnic|rdma)(?:P[0-9]+)?(?:[ops][0-9][a-z0-9]*|x[0-9a-f]{12})(?:_[0-9]+)?$`)
)

// stems are beginnings of those names, which a prefix of NCCL may be or begin with.
func stems() []string {
	return []string{"mlx5_", "mlx4_", "mlx5_bond_", "mlx5_ib", "mlx5_an", "bnxt_re", "ionic_", "irdma", "efa_", "mana_", "hns_", "erdma_", "qedr", "hfi1_", "rxe", "siw", "shca_", "ibp", "ibs", "ibo", "ibP", "rocep", "roces", "roceo", "roceP", "rdmap", "rdmas", "rdmaP", "ocrdma", "usnic_"}
}

// rdmaName says why a name is that of no RDMA device; empty: it may be one, or a prefix of some.
func rdmaName(name string) string {
	if kernelName().MatchString(name) || placeName().MatchString(name) || name == "" {
		return ""
	}
	for _, stem := range stems() {
		if strings.HasPrefix(stem, name) {
			return ""
		}
	}
	for _, stem := range stems() {
		head := strings.TrimRight(name, "0123456789")
		if head != name && strings.Contains(stem, "_") && levenshtein.Distance(head, stem, nil) == 1 {
			return "the nearest that exists is " + stem + name[len(head):]
		}
	}
	return "no driver and no rule of rdma-core names a device so"
}

func ncclHCARule() Rule {
	return Rule{
		ID: "nccl-hca", Title: "the RDMA devices that are named can exist", Severity: fabric.SeverityWarning, Cause: fabric.CauseSocketFallback,
		Doc:       "a name that no device has is passed over; where none is left NCCL runs over TCP",
		Reference: "drivers/infiniband (names of devices); rdma-core kernel-boot/rdma_rename.c; NCCL src/transport/net_ib (matchIfList over ibv_get_device_list)",
		Judge: each(func(s scene) []fabric.Finding {
			var out []fabric.Finding
			for name, t := range s.deviceLists() {
				if t.Value == "" && !t.Open {
					continue
				}
				seen := s.at(t.Line, name+"="+t.Value)
				if t.Open {
					out = append(out, s.unknown(name+" is filled in later", seen)...)
					continue
				}
				var wrong []string
				all := strings.Split(strings.TrimLeft(t.Value, "^="), ",")
				for _, one := range all {
					device, _, _ := strings.Cut(strings.TrimSpace(one), ":")
					if why := rdmaName(device); why != "" {
						wrong = append(wrong, device+" ("+why+")")
					}
				}
				if len(wrong) == 0 {
					out = append(out, s.pass("names of devices", seen)...)
					continue
				}
				cost := "the devices of these names are not used"
				if len(wrong) == len(all) && !strings.HasPrefix(t.Value, "^") {
					cost = "no device matches, and NCCL runs over TCP without an error"
				} else if strings.HasPrefix(t.Value, "^") || strings.Contains(name, "EXCLUDE") {
					cost = "the device that was meant is not excluded"
				}
				out = append(out, s.fail(fault{
					why: fmt.Sprintf("%s names %s", name, strings.Join(wrong[:min(len(wrong), 3)], ", ")), expected: "names as ibv_devices prints them on the nodes, such as mlx5_0, bnxt_re0, rocep1s0f1",
					cost: cost, fix: "ibv_devices on a node; write those names, or = before the list for exact ones", seen: []fabric.Evidence{seen},
				}))
			}
			return out
		}),
	}
}

// deviceLists are the settings that name RDMA devices: NCCL_IB_HCA, and names that were meant to be it.
func (s scene) deviceLists() map[string]manifest.Text {
	out := map[string]manifest.Text{}
	for name, t := range s.settings() {
		if v, known := ncclenv.Known(name); known && v.Kind == ncclenv.HCAs || !known && strings.HasSuffix(name, "IB_HCA") {
			out[name] = t
		}
	}
	if e, ok := s.c.Variable("NVSHMEM_HCA_LIST"); ok {
		out[e.Name] = e.Value
	}
	return out
}

func ncclGIDRule() Rule {
	return Rule{
		ID: "nccl-gid-index", Title: "NCCL chooses the GID itself", Severity: fabric.SeverityWarning, Cause: fabric.CauseGIDIndex,
		Doc:       "an index is good while the GID table of every port of every node has the same order; since 2.21 NCCL finds the GID by address family and RoCE version where none is set",
		Reference: "NCCL env.rst: NCCL_IB_GID_INDEX, NCCL_IB_ADDR_FAMILY (since 2.21); src/misc/param.cc: an empty value keeps the default, which was 0 before 2.21 and is -1 since",
		Judge: each(func(s scene) []fabric.Finding {
			t, ok := s.setting("NCCL_IB_GID_INDEX")
			if !ok {
				return s.notApplicable("NCCL_IB_GID_INDEX is not set")
			}
			seen := s.at(t.Line, "NCCL_IB_GID_INDEX="+strconv.Quote(t.Value))
			switch {
			case t.Open:
				return s.unknown("NCCL_IB_GID_INDEX is filled in later", seen)
			case strings.TrimSpace(t.Value) == "":
				return []fabric.Finding{s.fail(fault{
					why:      "NCCL_IB_GID_INDEX is set to nothing, which is not the same as unset: NCCL before 2.21 and plugins that read it by atoi take index 0, on RoCE the link-local GID",
					expected: "the variable left out", cost: "connections between subnets fail or hang after the model was loaded (ibv_modify_qp, errno 61 or 110)",
					fix: "take the line out; in a compose file write NCCL_IB_GID_INDEX: null or no line, not \"\"", seen: []fabric.Evidence{seen},
				})}
			case t.Value == "-1":
				return s.pass("-1, chosen by NCCL", seen)
			}
			f := s.finding(fabric.Unknown, "NCCL_IB_GID_INDEX="+t.Value+" is right while every port of every node has its RoCE v2 address there; it goes stale when interfaces come and go, and 0 is link-local on RoCE", seen)
			f.Severity, f.Expected, f.Fix = fabric.SeverityInfo, "unset with NCCL 2.21 or later", "show_gids on each node; or leave it unset"
			return []fabric.Finding{f}
		}),
	}
}

func ncclOffRule() Rule {
	return Rule{
		ID: "nccl-switched-off", Title: "nothing switches off the path that the pod has", Severity: fabric.SeverityError, Cause: fabric.CauseSocketFallback,
		Doc: "NCCL_IB_DISABLE, NCCL_NET=Socket and the like leave RDMA devices idle; NCCL_P2P_DISABLE and NCCL_SHM_DISABLE do so with NVLink and shared memory", Reference: docNCCL,
		Judge: each(func(s scene) []fabric.Finding {
			var out []fabric.Finding
			nodes, _, _ := s.nodes()
			has := s.hasRDMA()
			if len(s.nicResources()) == 0 && has != "" && s.c.Privileged {
				has = ""
			}
			rdma := has != "" || len(s.wantsRDMA()) > 0
			off := func(name string, t manifest.Text, what string, sure bool, cause fabric.CauseID) {
				seen := s.at(t.Line, name+"="+t.Value)
				if !sure {
					out = append(out, s.unknown(name+"="+t.Value+" switches "+what+" off: right only where the machines have none", seen)...)
					return
				}
				out = append(out, s.fail(fault{
					why: fmt.Sprintf("%s=%s switches %s off, and the pod has or names RDMA devices", name, t.Value, what), expected: "the line left out", cause: cause,
					cost: "traffic between nodes goes over TCP, or through host memory: a part of the rate of the NICs", fix: "take the line out", seen: []fabric.Evidence{seen},
				}))
			}
			if t, ok := s.setting("NCCL_IB_DISABLE"); ok && nonZero(t) && !s.ownPlugin() {
				off("NCCL_IB_DISABLE", t, "RDMA by verbs", rdma, fabric.CauseSocketFallback)
			}
			if t, ok := s.setting("NCCL_NET"); ok && strings.EqualFold(t.Value, "Socket") {
				off("NCCL_NET", t, "every network but TCP", rdma, fabric.CauseSocketFallback)
			}
			if t, ok := s.setting("NCCL_NET_GDR_LEVEL"); ok && (t.Value == "LOC" || t.Value == "0") {
				off("NCCL_NET_GDR_LEVEL", t, "GPUDirect RDMA", rdma, fabric.CauseGDRDisabled)
			}
			if g, known, ok := s.gpus(); ok && known && g > 1 || nodes > 1 {
				for name, what := range map[string]string{"NCCL_P2P_DISABLE": "direct access between GPUs", "NCCL_SHM_DISABLE": "shared memory between ranks"} {
					if t, ok := s.setting(name); ok && nonZero(t) {
						off(name, t, what, false, fabric.CauseNCCLSettings)
					}
				}
			}
			if len(out) == 0 {
				return s.pass("no path is switched off")
			}
			return out
		}),
	}
}

// nonZero reports whether NCCL reads a number other than 0.
func nonZero(t manifest.Text) bool {
	v, err := strconv.ParseInt(strings.TrimSpace(t.Value), 0, 64)
	return err == nil && v != 0 && !t.Open
}

// ownPlugin reports whether a plugin of its own carries the traffic, beside which the verbs of NCCL may be off: EFA, TCPX, TCPXO.
func (s scene) ownPlugin() bool {
	for name := range s.nicResources() {
		if strings.HasPrefix(name, "vpc.amazonaws.com/") {
			return true
		}
	}
	for _, e := range s.c.Env {
		if strings.HasPrefix(e.Name, "NCCL_FASTRAK_") || strings.HasPrefix(e.Name, "NCCL_GPUDIRECTTCPX_") || strings.HasPrefix(e.Name, "FI_") || e.Name == "NCCL_NET_PLUGIN" && e.Value.Value != "none" {
			return true
		}
	}
	return false
}

func ncclTopoRule() Rule {
	return Rule{
		ID: "nccl-topology-file", Title: "the topology file is in the container", Severity: fabric.SeverityWarning, Cause: fabric.CauseTopoXMLWrong,
		Doc: "NCCL_TOPO_FILE is opened in the container: a path that nothing mounts exists only if the image has it", Reference: "NCCL src/graph/topo.cc, ncclTopoGetSystem; env.rst: NCCL_TOPO_FILE",
		Judge: each(func(s scene) []fabric.Finding {
			t, ok := s.setting("NCCL_TOPO_FILE")
			if !ok || t.Value == "" {
				return s.notApplicable("NCCL_TOPO_FILE is not set")
			}
			seen := s.at(t.Line, "NCCL_TOPO_FILE="+t.Value)
			if m, mounted := s.c.Mounted(t.Value); mounted {
				return s.pass("a mounted path", seen, s.at(m.Line, m.Path))
			}
			return s.unknown("nothing mounts "+t.Value+": it exists only if the image has it, and NCCL goes on without an error if it does not", seen)
		}),
	}
}
