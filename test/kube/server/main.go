// Command server is a Kubernetes control plane in one file: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
// kubectl, kwok and the controller of LeaderWorkerSet, each under its own name. They share most of their packages, so that one build
// costs less than half of seven. The tests in the folder above start it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as the programs' own mains do
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	nodes "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pods "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubectl":
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	case "lws-manager":
		if err := runLWS(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "lws-manager:", err)
			os.Exit(1)
		}
	case "kwok":
		if err := runKwok(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "kwok:", err)
			os.Exit(1)
		}
	case "kwok-stages": // kwok does nothing without a file of these, and its program contains none
		for _, stage := range []string{nodes.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease, pods.DefaultPodReady, pods.DefaultPodComplete, pods.DefaultPodDelete} {
			fmt.Printf("---\n%s\n", stage)
		}
	default:
		fmt.Fprintf(os.Stderr, "%s: not a program of this file; known: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, lws-manager, kwok, kwok-stages\n", name)
		os.Exit(2)
	}
}

// runKwok does what kwok's own main does: its configuration is read before its flags.
func runKwok(ctx context.Context) error {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError) // without the flags of the others: cobra adds them all
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ = log.InitFlags(ctx, flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	c := kwok.NewCommand(ctx)
	c.PersistentFlags().AddFlagSet(flags)
	return c.ExecuteContext(ctx)
}
