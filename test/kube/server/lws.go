package main

import (
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clients "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	leaderworkerset "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/pkg/webhooks"
)

// runLWS is the controller of LeaderWorkerSet with its webhooks, as its own main sets them up, but for the certificate: that comes from
// the tests, which also tell the API server where the webhooks are.
func runLWS(args []string) error {
	flags := flag.NewFlagSet("lws-manager", flag.ContinueOnError)
	config := flags.String("config", "", "kubeconfig")
	port := flags.Int("port", 0, "of the webhooks")
	health := flags.Int("health-port", 0, "of readyz")
	certs := flags.String("cert-dir", "", "folder with tls.crt and tls.key")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctrl.SetLogger(zap.New())
	api, err := clientcmd.BuildConfigFromFlags("", *config)
	if err != nil {
		return err
	}
	api.QPS, api.Burst = 500, 500 // the defaults of its main
	scheme := runtime.NewScheme()
	if err := clients.AddToScheme(scheme); err != nil {
		return err
	}
	if err := leaderworkerset.AddToScheme(scheme); err != nil {
		return err
	}
	m, err := ctrl.NewManager(api, ctrl.Options{
		Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"}, HealthProbeBindAddress: fmt.Sprintf("127.0.0.1:%d", *health),
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certs}),
	})
	if err != nil {
		return err
	}
	for _, set := range []func() error{
		func() error { return controllers.SetupIndexes(m.GetFieldIndexer()) },
		func() error {
			return controllers.NewLeaderWorkerSetReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("leaderworkerset")).SetupWithManager(m)
		},
		func() error {
			return controllers.NewPodReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("leaderworkerset"), nil).SetupWithManager(m)
		},
		func() error { return webhooks.SetupLeaderWorkerSetWebhook(m) },
		func() error { return webhooks.NewPodWebhook(nil).Setup(m) },
		func() error { return m.AddReadyzCheck("webhooks", m.GetWebhookServer().StartedChecker()) },
		func() error { return m.AddHealthzCheck("ping", healthz.Ping) },
	} {
		if err := set(); err != nil {
			return err
		}
	}
	return m.Start(ctrl.SetupSignalHandler())
}
