package kube

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// RequestTimeout is how long one request may take, retries not counted. The API server ends its own work on most requests after
// 60 s (--request-timeout); one that needs half of that for a page of objects is not well.
const RequestTimeout = 30 * time.Second

// Open prepares to speak to the cluster of a kubeconfig file, and of a context of it; nothing is asked of the cluster yet.
// Without a path: the files of KUBECONFIG, else ~/.kube/config, else the pod that this program runs in. Without a context:
// the file's current one.
//
// A kubeconfig can name a program that prints credentials (users[].user.exec: gke-gcloud-auth-plugin). The Kubernetes library
// starts it, with the first request that needs it: that is the one process in this program that package host does not start.
func Open(kubeconfig, context string) (*Client, error) {
	config, context, err := load(kubeconfig, context)
	if err != nil {
		return nil, err
	}
	c, err := newClient(config, RequestTimeout)
	if err == nil {
		c.context = context
	}
	return c, err
}

// newClient makes a client that gives each request so long.
func newClient(config *rest.Config, timeout time.Duration) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = timeout
	config.UserAgent = Manager
	config.QPS = -1 // the server shares its time among clients by itself (API priority and fairness)
	config.WarningHandler = rest.NoWarnings{}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.APIPath = "/"
	config.GroupVersion = &schema.GroupVersion{} // every request says its path itself
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	server := serverName(config.Host)
	r, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", server, plain(err))
	}
	return &Client{rest: r, server: server, timeout: timeout, identity: serverIdentity(config), resources: make(map[string]map[string]resource)}, nil
}

// serverName is the address of an API server without what a URL may carry beside it.
func serverName(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		return host
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
}

// Contexts are what a kubeconfig has to choose from. All is empty where no file has any.
type Contexts struct {
	File    string // its path, or the paths of KUBECONFIG
	Current string // empty: none is
	Known   []string
}

// ReadContexts reads the contexts of the kubeconfig that Open would take.
func ReadContexts(kubeconfig string) (Contexts, error) {
	rules, from := loadingRules(kubeconfig)
	merged, err := rules.Load()
	if err != nil {
		return Contexts{}, fmt.Errorf("kubeconfig %q: %w", from, fileError(err))
	}
	return Contexts{File: from, Current: merged.CurrentContext, Known: slices.Sorted(maps.Keys(merged.Contexts))}, nil
}

// loadingRules are the library's, and the files that they name.
func loadingRules(kubeconfig string) (rules *clientcmd.ClientConfigLoadingRules, from string) {
	rules = clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	rules.WarnIfAllMissing = false // it is an error below
	if kubeconfig != "" {
		return rules, kubeconfig
	}
	return rules, strings.Join(rules.Precedence, string(filepath.ListSeparator))
}

// load reads the configuration of a context, and returns its name; that of a pod around this process has none.
func load(kubeconfig, context string) (*rest.Config, string, error) {
	rules, from := loadingRules(kubeconfig)
	merged, err := rules.Load()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig %q: %w", from, fileError(err))
	}
	if len(merged.Contexts) == 0 && len(merged.Clusters) == 0 {
		config, err := withoutFile(kubeconfig, context, from)
		return config, "", err
	}
	if err := findContext(merged, &context); err != nil {
		return nil, "", fmt.Errorf("kubeconfig %q: %w", from, err)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*merged, context, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig %q: context %q: %w", from, context, err)
	}
	return config, context, nil
}

// fileError leaves of an error of a file what is wrong with it: its name is said already, and types of Go are no help.
func fileError(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	text := err.Error()
	if _, kind, found := strings.Cut(text, "no kind "); found {
		if kind, _, found := strings.Cut(kind, " is registered"); found {
			return fmt.Errorf("is not a kubeconfig: its kind is %s", kind)
		}
	}
	if strings.Contains(text, "couldn't get version/kind") {
		return errors.New("is not a kubeconfig: no apiVersion and kind can be read")
	}
	return err
}

// withoutFile is the configuration where no file has any: that of the pod around this process.
func withoutFile(kubeconfig, context, from string) (*rest.Config, error) {
	if kubeconfig != "" || context != "" {
		return nil, fmt.Errorf("kubeconfig %q: has no cluster", from)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
			return nil, errors.New("no cluster given: there is no ~/.kube/config, KUBECONFIG is not set, and this is not a pod: use --kubeconfig FILE")
		}
		return nil, fmt.Errorf("no cluster given: KUBECONFIG %q names no file with a cluster, and this is not a pod: use --kubeconfig FILE", from)
	}
	if err != nil {
		return nil, fmt.Errorf("credentials of this pod: %w", err)
	}
	return config, nil
}

func findContext(config *api.Config, context *string) error {
	known := slices.Sorted(maps.Keys(config.Contexts))
	if *context == "" {
		*context = config.CurrentContext
	}
	switch {
	case *context == "":
		return fmt.Errorf("has no current context: name one with --context; known: %s", orNone(known))
	case config.Contexts[*context] == nil:
		return fmt.Errorf("has no context %q; known: %s", *context, orNone(known))
	}
	cluster := config.Contexts[*context].Cluster
	if config.Clusters[cluster] == nil || config.Clusters[cluster].Server == "" {
		return fmt.Errorf("context %q: cluster %q has no server", *context, cluster)
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
