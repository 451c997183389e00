package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/topology"
)

// builder returns the machines to predict for with the hardware of the flags and an environment of NCCL, and what the
// environment changed about them.
type builder func(flags fabric.Hardware, env map[string]string) (c *collective.Cluster, why string, err error)

// forecast is a prediction that can be repeated with other flags and another environment.
type forecast struct {
	build builder
	job   collective.Job
	sizes []int64
	notes []string // what flags replace
}

// instead notes that a flag states another version of NCCL than what else describes the job.
func (f *forecast) instead(o predictOptions, of, version string) {
	if len(o.nccl) == 0 || version == "" || o.compared {
		return
	}
	stated, err := fabric.ParseNCCLVersion(version)
	if flag, _ := fabric.ParseNCCLVersion(o.nccl[0]); err != nil || flag != stated {
		f.notes = append(f.notes, fmt.Sprintf("--nccl %s counts instead of %s of %s", o.nccl[0], version, of))
	}
}

func (f forecast) predict(flags fabric.Hardware, env map[string]string) (*fabric.Prediction, error) {
	c, why, err := f.build(flags, env)
	if err != nil {
		return nil, err
	}
	job := f.job
	job.Env = env
	p, err := c.Predict(job, f.sizes)
	if err == nil && why != "" {
		p.Remarks = append(p.Remarks, why)
	}
	return p, err
}

// noEffectOn begins the remark on what changes nothing.
const noEffectOn = "no effect on this prediction: "

// noEffect says which settings of the environment and which flags change nothing: each is left out in turn, beside the
// rest, and predicted again. A flag that states what would hold without it is none of them.
func (f forecast) noEffect(p *fabric.Prediction, flags fabric.Hardware) (remarks []string) {
	var idle []string
	env := maps.Clone(f.job.Env)
	for _, name := range slices.Sorted(maps.Keys(f.job.Env)) {
		if !f.follows(flags, name) {
			continue // the prediction says so
		}
		less := maps.Clone(env)
		delete(less, name)
		if q, err := f.predict(flags, less); err == nil && sameBandwidth(p, q) {
			idle, env = append(idle, name+"="+f.job.Env[name]), less
		}
	}
	if len(idle) > 0 {
		remarks = append(remarks, noEffectOn+strings.Join(idle, ", "))
	}
	if p.Hardware.Wiring == "" && f.job.Env["NCCL_IB_HCA"] != "" && slices.ContainsFunc(idle, func(s string) bool { return strings.HasPrefix(s, "NCCL_IB_HCA=") }) {
		remarks = append(remarks, "NCCL_IB_HCA names adapters of a host, which are unknown here: use --nics for fewer NICs")
	}
	for _, flag := range given(flags) {
		q, err := f.predict(flag.without, f.job.Env)
		if err != nil {
			continue // the flag is needed
		}
		if confirms := sameHardware(p.Hardware, q.Hardware) && flag.holds(p.Hardware); sameBandwidth(p, q) && !confirms {
			remarks = append(remarks, noEffectOn+flag.text)
		}
	}
	return remarks
}

// follows reports whether the prediction reads a setting.
func (f forecast) follows(flags fabric.Hardware, name string) bool {
	c, _, err := f.build(flags, nil)
	return err == nil && c.Follows(name)
}

// flagGiven is a flag as it was given, the flags without it, and whether hardware has its value.
type flagGiven struct {
	text    string
	without fabric.Hardware
	holds   func(fabric.Hardware) bool
}

// given lists the flags that describe machines beyond their kind and number.
func given(flags fabric.Hardware) (all []flagGiven) {
	add := func(set bool, text string, clear func(*fabric.Hardware), holds func(fabric.Hardware) bool) {
		if set {
			without := flags
			clear(&without)
			all = append(all, flagGiven{text, without, holds})
		}
	}
	add(flags.NICsPerNode > 0, fmt.Sprintf("--nics %d", flags.NICsPerNode), func(h *fabric.Hardware) { h.NICsPerNode = 0 },
		func(h fabric.Hardware) bool { return h.NICsPerNode == flags.NICsPerNode })
	add(flags.NICGbps > 0, fmt.Sprintf("--rate %g", flags.NICGbps), func(h *fabric.Hardware) { h.NICGbps = 0 },
		func(h fabric.Hardware) bool { return h.NICGbps == flags.NICGbps })
	add(flags.Net != "", "--net "+flags.Net, func(h *fabric.Hardware) { h.Net = "" },
		func(h fabric.Hardware) bool { return strings.EqualFold(h.Net, strings.TrimSpace(flags.Net)) })
	add(flags.CPU != "", "--cpu "+flags.CPU, func(h *fabric.Hardware) { h.CPU = "" },
		func(h fabric.Hardware) bool { return strings.EqualFold(h.CPU, strings.TrimSpace(flags.CPU)) })
	add(flags.Oversubscription > 0, fmt.Sprintf("--oversubscription %g", flags.Oversubscription), func(h *fabric.Hardware) { h.Oversubscription = 0 },
		func(h fabric.Hardware) bool { return h.Oversubscription == flags.Oversubscription })
	add(flags.Wiring != "", "--wiring "+string(flags.Wiring), func(h *fabric.Hardware) { h.Wiring = "" },
		func(h fabric.Hardware) bool { return h.Wiring == flags.Wiring })
	add(flags.MTU > 0, fmt.Sprintf("--mtu %d", flags.MTU), func(h *fabric.Hardware) { h.MTU = 0 },
		func(h fabric.Hardware) bool { return largePackets(h.MTU) })
	add(flags.VM, "--vm", func(h *fabric.Hardware) { h.VM = false }, func(h fabric.Hardware) bool { return h.VM })
	return all
}

// sameBandwidth reports whether two predictions of the same sizes expect the same and call the same healthy.
func sameBandwidth(p, q *fabric.Prediction) bool {
	return slices.EqualFunc(p.Rows, q.Rows, func(x, y fabric.PredictionRow) bool {
		return x.BusBW == y.BusBW && x.Band == y.Band && x.Algorithm == y.Algorithm && x.Protocol == y.Protocol
	})
}

func sameHardware(a, b fabric.Hardware) bool {
	a.NVLink, a.Spine, b.NVLink, b.Spine = nil, nil, nil, nil // of the machine, not of these flags
	for _, h := range []*fabric.Hardware{&a, &b} {
		if largePackets(h.MTU) {
			h.MTU = 0
		}
	}
	return a == b
}

// largePackets reports whether an MTU lets RDMA use its largest packets, as one that is unspecified does.
func largePackets(mtu int) bool {
	const largest = 4096 // InfiniBand Architecture: path MTU
	return topology.RDMAPayload(mtu) == largest
}

// cluster reads what describes the machines to predict for. Base is the hardware of a table, which flags override. A cluster file also
// says which version of NCCL the job uses.
func (a *app) cluster(ctx context.Context, o predictOptions, cat *catalog.Catalog, base fabric.Hardware, f *forecast) (builder, error) {
	switch {
	case o.file != "":
		in, err := a.readCluster(o.file)
		if err != nil {
			return nil, err
		}
		if base, err = in.hardware(); err != nil {
			return nil, err
		}
		f.instead(o, "the cluster file", in.plan.NCCL)
		if len(o.nccl) == 0 {
			f.job.Version = in.plan.NCCL
			err = checkNCCL("cluster file: nccl", f.job.Version)
		}
		if err != nil {
			return nil, err
		}
	case o.topo != "" || o.snapshot != "":
		system, err := a.system(ctx, o, cat)
		if err != nil {
			return nil, err
		}
		return func(flags fabric.Hardware, env map[string]string) (*collective.Cluster, string, error) {
			s, err := system(ncclgraph.Options{Nodes: max(flags.Nodes, 1), Env: env})
			if err != nil {
				return nil, "", err
			}
			hw, why := collective.OverSockets(cat, flags, env)
			c, err := collective.FromSystem(cat, s, hw)
			return c, why, err
		}, nil
	case base.GPU == "" && base.Machine == "" && o.hw.Machine == "" && o.hw.GPU == "":
		return nil, errors.New("machines: unspecified: use --machine ID, --gpu G, -f FILE, --like TABLE, --topo XML or --snapshot PATH")
	}
	made := map[fabric.Hardware]*collective.Cluster{} // NCCL's search in a large machine takes longer than all else
	return func(flags fabric.Hardware, env map[string]string) (*collective.Cluster, string, error) {
		hw := base.With(flags)
		if err := checkMachine(cat, hw.Machine, flags); err != nil {
			return nil, "", err
		}
		hw, why := collective.OverSockets(cat, hw, env)
		hw, fewer, err := collective.ListedNICs(cat, hw, env)
		if err != nil {
			return nil, "", err
		}
		c, again := made[hw]
		if !again {
			if c, err = collective.New(cat, hw); err != nil {
				return nil, "", err
			}
			made[hw] = c
		}
		return c, cmp.Or(why, fewer), nil
	}, nil
}

// system returns NCCL's own idea of a machine, from its topology file or from facts.
func (a *app) system(ctx context.Context, o predictOptions, cat *catalog.Catalog) (func(ncclgraph.Options) (*ncclgraph.System, error), error) {
	if o.topo != "" {
		d, err := a.filledDocument(o.topo, cat, o.hw)
		return func(options ncclgraph.Options) (*ncclgraph.System, error) {
			s, err := ncclgraph.NewSystem(d, options)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fabric.Quote(o.topo), err)
			}
			return s, nil
		}, err
	}
	m, err := machineOptions{snapshot: o.snapshot}.load(ctx, a.files)
	if err == nil {
		err = needsGPUs(m)
	}
	if err != nil {
		return nil, err
	}
	for _, gap := range m.Gaps {
		a.progress("%s: %s", m.Name, gap)
	}
	return func(options ncclgraph.Options) (*ncclgraph.System, error) { return ncclgraph.FromMachine(m, options) }, nil
}
