package dradriver

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// railwright runs the program in a network namespace, on a machine of a name. A container has what the kubelet mounts there.
func (n *node) railwright(namespace, name string, argv ...string) []byte {
	n.Helper()
	self, err := os.Executable()
	if err != nil {
		n.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(n.Context(), 40*time.Second)
	defer cancel()
	env, enter := []string{commandVariable + "=yes"}, `hostname "$0"; `
	if namespace != nodeName {
		enter += "mount -t tmpfs none /var/run; mkdir -p /var/run/secrets/kubernetes.io/serviceaccount; "
	}
	prefix := []string{"ip", "netns", "exec", namespace, "unshare", "--uts", "--mount", "sh", "-ec", enter + `exec "$@"`, name, self}
	out, err := host.Output(ctx, host.Local{}, host.Command{Argv: append(prefix, argv...), Env: env})
	var exit *host.ExitError // 1 and 2 are verdicts: veth pairs are no RDMA NICs
	if err != nil && (!errors.As(err, &exit) || exit.Status > 2 || len(out) == 0) {
		n.Fatalf("railwright %v: %v", argv, err)
	}
	return out
}

// facts are what railwright collects in a namespace.
func (n *node) facts(namespace, name string) fabric.Facts {
	n.Helper()
	var f fabric.Facts
	if err := json.Unmarshal(n.railwright(namespace, name, "collect"), &f); err != nil {
		n.Fatal(err)
	}
	return f
}

// verdicts are what each rule says of each interface, and of the whole (""), when railwright checks a machine, or a pod, against the plan.
func (n *node) verdicts(namespace, name string) map[string]map[string]fabric.Status {
	n.Helper()
	snapshot, cluster := filepath.Join(n.TempDir(), name+".json"), filepath.Join(n.TempDir(), "cluster.yaml")
	n.links(namespace) // they are up by now
	facts := n.railwright(namespace, name, "collect")
	if err := errors.Join(os.WriteFile(snapshot, facts, 0o600), os.WriteFile(cluster, []byte(clusterFile), 0o600)); err != nil {
		n.Fatal(err)
	}
	var all fabric.Findings
	if err := json.Unmarshal(n.railwright(namespace, name, "check", "-f", cluster, "--snapshot", snapshot, "-o", "json"), &all); err != nil {
		n.Fatal(err)
	}
	said := map[string]map[string]fabric.Status{}
	for _, f := range all.Findings {
		if f.Subject.Node != name {
			continue
		}
		if said[f.ID] == nil {
			said[f.ID] = map[string]fabric.Status{}
		}
		said[f.ID][f.Subject.NIC] = f.Status
	}
	return said
}

// claimsRead are claims as railwright reads them from what `kubectl get resourceclaims -o json` prints of the API server's.
func (n *node) claimsRead(pods ...string) []fabric.ClaimState {
	n.Helper()
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, pod := range pods {
		items = append(items, n.claim(pod))
	}
	list["items"] = items
	text, err := json.MarshalIndent(list, "", "    ") // as kubectl prints it
	folder := n.TempDir()
	if err = errors.Join(err, os.WriteFile(filepath.Join(folder, "resourceclaims.txt"), text, 0o600)); err != nil {
		n.Fatal(err)
	}
	var f fabric.Facts
	if err := json.Unmarshal(n.railwright(nodeName, nodeName, "collect", "--text", folder), &f); err != nil {
		n.Fatal(err)
	}
	if f.Kube == nil {
		n.Fatalf("no claim was read from %s", text)
	}
	return f.Kube.Claims
}
