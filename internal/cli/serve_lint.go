package cli

import (
	"bufio"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intake"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/manifestcheck"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

// serveLintOptions are the arguments and flags of serve lint.
type serveLintOptions struct {
	kubeOptions
	paths               []string // - is standard input
	file                string
	live                bool
	namespace, selector string
}

func (a *app) serveLintCommand(run func(context.Context, serveLintOptions) error) *cobra.Command {
	var o serveLintOptions
	c := &cobra.Command{
		Use:   "lint FILE...|- [-f FILE] | --live [--namespace NAME] [--selector LABELS]",
		Short: "What is wrong with the manifests of a served model, or with its live pods",
		Long: "Judge what starts containers that serve a model or run collectives over RDMA, by what NCCL, Gloo, vLLM, SGLang, Kubernetes\n" +
			"and the device plugins do with it: interfaces, variables of NCCL, RDMA devices and locked memory, /dev/shm, parallelism\n" +
			"against GPUs and nodes, probes, leader against workers, scripts that wait for an address, secrets, and fields that the API\n" +
			"does not have.\n\n" +
			"A FILE is any object of Kubernetes that holds pods (LeaderWorkerSet, JobSet, custom resources), a Helm template or its\n" +
			"output, a compose file, a script with docker run, a folder or archive of them; - is standard input. What a template fills\n" +
			"in later is unknown, and nothing that is absent fails where it may write it.\n\n" +
			"Operators rewrite pods. With --live the pods of a cluster are read and judged, and each is compared with the template of\n" +
			"the object that made it. Nothing is changed there.\n\n" +
			"Exit status 0: all pass; 1: something fails; 2: nothing fails, but something is unknown.",
		Args: takesMore(),
		RunE: func(c *cobra.Command, args []string) error {
			o.paths = args
			return run(c.Context(), o)
		},
	}
	fileFlag(c, &o.file)
	f := c.Flags()
	f.BoolVar(&o.live, "live", false, "judge the pods of a cluster")
	f.StringVar(&o.namespace, "namespace", "", "with --live: namespace of the pods; default all")
	f.StringVar(&o.selector, "selector", "", "with --live: labels of the pods, such as app=r1; default all that take part")
	o.clusterFlags(c)
	return c
}

func (a *app) serveLint(ctx context.Context, o serveLintOptions) error {
	switch {
	case o.live == (len(o.paths) > 0):
		return errors.New("give files, or --live: one of them")
	case !o.live && (o.namespace != "" || o.selector != "" || o.kubeconfig != "" || o.context != ""):
		return errors.New("flags --namespace, --selector, --kubeconfig and --context: use them with --live")
	}
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	machine := ""
	if o.file != "" {
		cluster, err := a.readCluster(o.file)
		if err != nil {
			return err
		}
		hw, err := cluster.hardware()
		if err != nil {
			return err
		}
		machine = hw.Machine
	}
	files, live, unread, err := a.manifests(ctx, o)
	if err != nil {
		return err
	}
	return a.printManifests(append(pipeline.Manifests(cat, machine, files, live), unread...))
}

// manifests reads the files, or the live pods. unread are what could not be read, as findings.
func (a *app) manifests(ctx context.Context, o serveLintOptions) (files []*manifest.File, live []manifestcheck.Live, unread []fabric.Finding, err error) {
	if o.live {
		a.doing("reading pods")
		client, err := kube.Open(o.kubeconfig, o.context)
		if err != nil {
			return nil, nil, nil, err
		}
		live, err = pipeline.LivePods(ctx, client, o.namespace, o.selector)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, l := range live {
			files = append(files, l.File)
		}
		if len(files) == 0 {
			unread = []fabric.Finding{pipeline.NoManifest("pods of the cluster", "no pod there takes part in serving a model or in collectives")}
		}
		return files, live, unread, nil
	}
	read, err := intake.Read(ctx, a.files, o.paths, a.stdin, func(file string) { a.doing("reading %s", fabric.Quote(file)) })
	if err != nil {
		return nil, nil, nil, err
	}
	for _, open := range read.Open {
		if open.Reason != "" {
			unread = append(unread, pipeline.NoManifest(open.Path, open.Reason))
		}
	}
	if len(read.Manifests) == 0 && len(unread) == 0 {
		unread = append(unread, pipeline.NoManifest(o.paths[0], "no manifest in it"))
	}
	return read.Manifests, nil, unread, nil
}

// printManifests prints findings as check does, and returns the exit status.
func (a *app) printManifests(found []fabric.Finding) error {
	var summary fabric.Summary
	for _, f := range found {
		summary.Count(f.Status)
	}
	var err error
	if a.json() {
		out := bufio.NewWriter(a.stdout)
		w := report.NewFindingsWriter(out)
		for _, f := range found {
			w.Write(f)
		}
		err = errors.Join(w.Close(summary, nil), out.Flush())
	} else {
		groups := report.NewGroups(a.textOptions())
		for _, f := range found {
			groups.Add(f)
		}
		err = groups.Text(a.stdout, summary)
	}
	if err != nil {
		return err
	}
	return exitOf(summary.Status())
}
