package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"railwright.dev/railwright/internal/host"
)

// ports that are free on loopback. Another process may take one before its server does: the server then ends, and says so.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all are held until the last is known
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// startServers returns when all servers are ready. They run until ctx ends, and have the time of starting to begin.
func (p *plane) startServers(ctx, starting context.Context) error {
	var err error
	if p.folder, err = os.MkdirTemp("", "railwright-kube-"); err != nil {
		return err
	}
	ports, err := freePorts(6)
	if err != nil {
		return err
	}
	config, err := p.identities(fmt.Sprintf("https://127.0.0.1:%d", ports[2]))
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 16}
	p.api = &client{url: fmt.Sprintf("https://127.0.0.1:%d", ports[2]), http: &http.Client{Transport: transport, Timeout: 30 * time.Second}}

	p.store = ports[0]
	if err := p.server(ctx, etcd(p, ports[0], ports[1])); err != nil {
		return err
	}
	if err := p.server(ctx, apiServer(p, ports[2], ports[0])); err != nil {
		return err
	}
	if err := p.ready(starting, "kube-apiserver", ports[2]); err != nil {
		return err
	}
	if err := p.server(ctx, controllers(p, ports[3])); err != nil {
		return err
	}
	if err := p.server(ctx, scheduler(p, ports[4])); err != nil {
		return err
	}
	if err := p.kwok(ctx, ports[5]); err != nil {
		return err
	}
	for i, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		if err := p.ready(starting, name, ports[3+i]); err != nil {
			return err
		}
	}
	return nil
}

// identities writes the certificates and returns that of an administrator.
func (p *plane) identities(url string) (*tls.Config, error) {
	a, err := newAuthority()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.path("ca.crt"), a.pem, 0o600); err != nil {
		return nil, err
	}
	server, err := a.issue("kube-apiserver")
	if err != nil {
		return nil, err
	}
	if err := server.write(p.path("server")); err != nil {
		return nil, err
	}
	var admin pair
	for _, who := range []struct{ name, user, group string }{
		{"scheduler", "system:kube-scheduler", ""}, {"controllers", "system:kube-controller-manager", ""}, {"admin", "admin", "system:masters"},
	} {
		if admin, err = a.issue(who.user, who.group); err != nil {
			return nil, err
		}
		config, err := a.kubeconfig(url, admin)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(p.path(who.name+".kubeconfig"), config, 0o600); err != nil {
			return nil, err
		}
	}
	return a.tls(admin)
}

func etcd(p *plane, clients, peers int) []string {
	own, others := fmt.Sprintf("http://127.0.0.1:%d", clients), fmt.Sprintf("http://127.0.0.1:%d", peers)
	return []string{
		"etcd", "--data-dir", p.path("etcd"), "--listen-client-urls", own, "--advertise-client-urls", own, "--listen-peer-urls", others,
		"--initial-advertise-peer-urls", others, "--initial-cluster", "default=" + others, "--unsafe-no-fsync", "--log-level", "warn",
	}
}

func apiServer(p *plane, port, store int) []string {
	return []string{
		"kube-apiserver", "--allow-privileged=true", "--etcd-servers", fmt.Sprintf("http://127.0.0.1:%d", store),
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(port),
		"--client-ca-file", p.path("ca.crt"), "--tls-cert-file", p.path("server.crt"), "--tls-private-key-file", p.path("server.key"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", p.path("server.key"),
		"--service-account-signing-key-file", p.path("server.key"), "--service-cluster-ip-range", "10.96.0.0/16",
		"--authorization-mode", "RBAC", "--endpoint-reconciler-type", "none",
		// Served since 1.32 and 1.33, and until a release that is not this one; clusters of those releases have no other.
		"--runtime-config", "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true",
	}
}

// controllers runs those that rendered objects need, and none that look for clouds or endpoints. By default a
// client may ask 20 times a second, which would be what a test of many pods measures.
func controllers(p *plane, port int) []string {
	config := p.path("controllers.kubeconfig")
	return []string{
		"kube-controller-manager", "--kubeconfig", config, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--tls-cert-file", p.path("server.crt"), "--tls-private-key-file", p.path("server.key"),
		"--leader-elect=false", "--use-service-account-credentials=true", "--service-account-private-key-file", p.path("server.key"), "--root-ca-file", p.path("ca.crt"),
		"--kube-api-qps", "1000", "--kube-api-burst", "2000",
		"--controllers", "resourceclaim-controller,serviceaccount-controller,namespace-controller,node-lifecycle-controller," +
			"pod-garbage-collector-controller,garbage-collector-controller,job-controller,statefulset-controller," +
			"daemonset-controller,deployment-controller,replicaset-controller,persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,persistentvolume-protection-controller",
	}
}

func scheduler(p *plane, port int) []string {
	config := p.path("scheduler.kubeconfig")
	return []string{
		"kube-scheduler", "--kubeconfig", config, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--tls-cert-file", p.path("server.crt"), "--tls-private-key-file", p.path("server.key"),
		"--leader-elect=false", "--kube-api-qps", "1000", "--kube-api-burst", "2000",
	}
}

// kwok plays the kubelets of the nodes that have its annotation.
func (p *plane) kwok(ctx context.Context, port int) error {
	stages, err := host.Output(ctx, host.Local{}, host.Command{Argv: []string{filepath.Join(p.programs, "kwok-stages")}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.path("stages.yaml"), stages, 0o600); err != nil {
		return err
	}
	return p.server(ctx, []string{
		"kwok", "--kubeconfig", p.path("admin.kubeconfig"), "--config", p.path("stages.yaml"), "--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake", "--node-ip", "127.0.0.1",
		"--node-lease-duration-seconds", "40", "--server-address", fmt.Sprintf("127.0.0.1:%d", port),
	})
}

// server starts a program of the build. Its log is a file of its name.
func (p *plane) server(ctx context.Context, argv []string) error {
	log, err := os.Create(p.path(argv[0] + ".log"))
	if err != nil {
		return err
	}
	command := append([]string{filepath.Join(p.programs, argv[0])}, argv[1:]...)
	process, err := host.Local{}.Start(ctx, host.Command{Argv: command, Merged: true})
	if err != nil {
		_ = log.Close()
		return err
	}
	p.running.Go(func() {
		_, err := io.Copy(log, process.Stdout)
		err = errors.Join(err, process.Wait())
		var exit *host.ExitError
		if errors.As(err, &exit) { // whose text has the command with all its arguments
			err = fmt.Errorf("exit status %d", exit.Status)
		}
		_ = log.Close()
		p.ended(fmt.Errorf("%s ended: %w; it logged last:\n%s", argv[0], err, p.logged(argv[0])))
	})
	return nil
}

// ready waits for a server, and says what it logged last if it does not become ready.
func (p *plane) ready(ctx context.Context, name string, port int) error {
	page := "readyz"
	if name == "kube-controller-manager" {
		page = "healthz"
	}
	err := until(ctx, func() string {
		answer, err := p.api.http.Get(fmt.Sprintf("https://127.0.0.1:%d/%s", port, page))
		if err != nil {
			return err.Error()
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.Status
		}
		return ""
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s is not ready: %w\nit logged last:\n%s", name, err, p.logged(name))
}

func (p *plane) logged(name string) string {
	log, _ := os.ReadFile(p.path(name + ".log")) // its absence shows
	return lastLines(string(log), 4)
}
