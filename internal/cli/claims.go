package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// claimsOptions are the flags of claims.
type claimsOptions struct {
	file       string
	claims     []string
	slices     []string
	kubeconfig string
	context    string
	snapshots  []string
	machine    string
	nodes      int
	pods       int
	gpus       int
	template   string
	collective string
	kubernetes string
	budget     time.Duration
	api        string
	print      bool
	html       string
}

func (a *app) claimsCommand(run func(context.Context, claimsOptions) error) *cobra.Command {
	var o claimsOptions
	c := &cobra.Command{
		Use:   "claims [-f FILE | --claims FILE...] [--slices FILE... | --kubeconfig PATH | --snapshot PATH... | --machine ID --nodes N] [--pods N]",
		Short: "Which GPUs and NICs the DRA claims of pods would get, and how many pairs are aligned",
		Long: "Allocate the claims of pods (Dynamic Resource Allocation of Kubernetes) with the scheduler's own allocator, before the\n" +
			"pods exist: which GPUs and NICs each pod gets, how many pairs share a PCIe root, whether the claims keep them together\n" +
			"or the order of the devices does, and what a collective over the pods reaches. A claim that cannot be satisfied is\n" +
			"explained: by request and constraint, how many devices were left, and why the others did not match.\n\n" +
			"The claims are those of a cluster file (-f), as render writes them, or of files with ResourceClaims, their templates,\n" +
			"DeviceClasses, Pods and StatefulSets (--claims). The ResourceSlices are those of files (--slices, such as the output of\n" +
			"kubectl get resourceslices -o yaml), of a cluster (--kubeconfig, --context), or what drivers would publish on machines of\n" +
			"saved facts (--snapshot) or of the catalog (--machine, or those of the cluster file): these are nominal, and said to be.\n" +
			"--print-slices prints them. With the slices of files or of a cluster, --machine is what bandwidth is predicted for.\n\n" +
			"Exit status 0: every pod gets its devices, and all pairs are aligned; 1: a pod does not, or is misaligned; 2: it cannot\n" +
			"be known, as where a device plugin chooses the GPUs, or only the order of the devices aligns them.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := givenAboveZero(c, "nodes", "pods", "gpus"); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.flags(c)
	return c
}

// defaultAPI is the version of resource.k8s.io that slices are printed in.
const defaultAPI = "v1"

func (o *claimsOptions) flags(c *cobra.Command) {
	fileFlag(c, &o.file)
	f := c.Flags()
	f.StringArrayVar(&o.claims, "claims", nil, "file with claims, templates, classes, pods; - for standard input; repeatable")
	f.StringArrayVar(&o.slices, "slices", nil, "file with ResourceSlices, YAML or JSON; - for standard input; repeatable")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "cluster whose slices, classes and claims in use are read")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig; default its current one")
	f.StringArrayVar(&o.snapshots, "snapshot", nil, "saved facts of machines whose slices are made; repeatable")
	f.StringVar(&o.machine, "machine", "", "machine of the catalog")
	f.IntVar(&o.nodes, "nodes", 0, "number of machines; default those of the cluster file, else 1")
	f.IntVar(&o.pods, "pods", 0, "number of pods; default as the claims, else as the cluster file says")
	f.IntVar(&o.gpus, "gpus", 0, "GPUs that a device plugin gives each pod; default as the containers of the pods say")
	f.StringVar(&o.template, "template", "", "ResourceClaimTemplate of the pods, where there are several")
	f.StringVar(&o.collective, "collective", string(fabric.AllGather), "collective whose bandwidth is predicted")
	f.StringVar(&o.kubernetes, "kubernetes", "", "version of Kubernetes, such as 1.34, whose allocator decides; default the newest known")
	f.DurationVar(&o.budget, "budget", 5*time.Second, "longest search for one pod on one node; beyond it the claim is undecided")
	f.BoolVar(&o.print, "print-slices", false, "print the nominal slices as YAML, with -o json as JSON, instead of allocating")
	f.StringVar(&o.api, "api", defaultAPI, "with --print-slices: version of resource.k8s.io: v1, v1beta2, v1beta1")
	htmlFlag(c, &o.html)
	c.MarkFlagsMutuallyExclusive("file", "claims")
	for _, flag := range []string{"kubeconfig", "context"} {
		c.MarkFlagsMutuallyExclusive("slices", flag, "snapshot")
	}
	c.MarkFlagsMutuallyExclusive("snapshot", "machine")
	c.MarkFlagsMutuallyExclusive("print-slices", "html")
}

func (a *app) claims(ctx context.Context, o claimsOptions) error {
	if o.budget <= 0 {
		return fmt.Errorf("flag --budget: %v: must be above 0", o.budget)
	}
	what, err := fabric.ParseCollective(o.collective)
	if err != nil {
		return fmt.Errorf("flag --collective: %w", err)
	}
	if o.api != defaultAPI && !o.print {
		return errors.New("flag --api: use it with --print-slices: claims and slices are read in any version")
	}
	s, err := a.claimSource(ctx, o)
	if err != nil {
		return err
	}
	if o.print {
		return a.printSlices(o, s)
	}
	in, err := a.claimTest(ctx, o, s)
	if err != nil {
		return err
	}
	in.Collective = what
	a.doing("allocating")
	result, err := pipeline.TryClaims(ctx, in)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.json() {
		err = report.JSON(a.stdout, result)
	} else {
		err = report.Allocation(a.stdout, result, a.textOptions())
	}
	err = errors.Join(err, writePage(o.html, func(w io.Writer) error { return report.AllocationHTML(w, result, a.pageInfo()) }))
	if err != nil {
		return err
	}
	return exitOf(result.Status)
}

// printSlices prints nominal slices, which can be applied and edited as any.
func (a *app) printSlices(o claimsOptions, s claimSource) error {
	if versions := pipeline.SliceVersions(); !slices.Contains(versions, o.api) {
		return fmt.Errorf("flag --api: %w", fabric.UnknownName("version", o.api, versions))
	}
	if !s.nominal {
		return errors.New("flag --print-slices: prints what drivers would publish: use it with -f FILE, --machine ID or --snapshot PATH alone")
	}
	text, err := pipeline.SliceText(s.made, o.api, a.json())
	if err != nil {
		return err
	}
	_, err = a.exact().Write(text)
	return err
}
