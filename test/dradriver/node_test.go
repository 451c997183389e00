package dradriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const nodeName = "node1"

// node is a machine of a plan: a network namespace with its NICs, a kubelet and a driver.
type node struct {
	*testing.T
	cluster cluster
	program string
	folder  string // where kubelet and driver meet
	returns string // what the driver does with an interface when its pod has ended: whole, named or bare

	kubelet *host.Process
	answers *json.Decoder
	driver  *host.Process
	pods    int // started so far
}

// addressing says which address an interface has on the node.
type addressing func(i int, planned fabric.NICAddress) string

func asPlanned(_ int, n fabric.NICAddress) string { return n.Address.String() }

// asInCloud is an address of one host, as the RDMA networks of Google Cloud give it to each interface.
func asInCloud(i int, _ fabric.NICAddress) string { return fmt.Sprintf("192.168.%d.11/32", i+1) }

func newNode(t *testing.T, c cluster, returns string, address addressing) *node {
	t.Helper()
	file, err := program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Paths of sockets have 107 bytes at most, so that this is no folder with the test's name.
	n := &node{T: t, cluster: c, program: file, folder: filepath.Join(os.TempDir(), "node-"+returns), returns: returns}
	if err := os.Mkdir(n.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	n.sh(fmt.Sprintf("mount -t tmpfs none /run; mkdir /run/netns; hostname %[1]s; ip netns add %[1]s; ip netns add switch; ip -n %[1]s link set lo up", nodeName))
	for i, nic := range c.nics() {
		port := fmt.Sprintf("port%d", i)
		n.sh(fmt.Sprintf("ip link add name %s netns %s mtu %d type veth peer name %s netns switch mtu 9100; ip -n switch link set %s up", nic.NIC, nodeName, c.plan.MTU, port, port))
		at := address(i, nic)
		n.sh(fmt.Sprintf("ip -n %[1]s address add %[2]s dev %[3]s; ip -n %[1]s link set %[3]s up", nodeName, at, nic.NIC))
		if strings.HasPrefix(at, nic.Address.Addr().String()+"/") {
			n.sh(fmt.Sprintf("ip -n %[1]s route add default via %[2]s dev %[3]s table %[4]d; ip -n %[1]s rule add from %[5]s table %[4]d priority %[6]d",
				nodeName, nic.Gateway, nic.NIC, nic.Table, nic.Address.Addr(), nic.RulePriority()))
		}
	}
	n.startKubelet()
	n.startDriver()
	return n
}

// sh runs lines in the namespaces of this test.
func (n *node) sh(lines string) string {
	n.Helper()
	ctx, cancel := context.WithTimeout(n.Context(), 30*time.Second)
	defer cancel()
	out, err := host.Output(ctx, host.Local{}, host.Command{Argv: []string{"sh", "-ec", lines}})
	if err != nil {
		n.Fatal(err)
	}
	return string(out)
}

// startKubelet starts it outside of `ip netns exec`, as a runtime is: the pods' namespaces are made there.
func (n *node) startKubelet() {
	n.Helper()
	var err error
	if n.kubelet, err = (host.Local{}).Start(n.Context(), host.Command{Argv: []string{n.program, "kubelet", n.folder}}); err != nil {
		n.Fatal(err)
	}
	n.answers = json.NewDecoder(n.kubelet.Stdout)
	n.Cleanup(func() {
		_ = n.kubelet.Kill() // it may have ended
		_ = n.kubelet.Wait()
	})
}

// startDriver starts the driver in the node's network namespace and waits until it is registered.
func (n *node) startDriver() {
	n.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the kubelet makes its sockets first
		if _, err := os.Stat(filepath.Join(n.folder, "nri.sock")); err == nil {
			break
		} else if time.Since(start) > 20*time.Second {
			n.Fatal(err)
		}
	}
	file := filepath.Join(n.folder, "slices.json")
	if err := os.WriteFile(file, n.cluster.slices, 0o600); err != nil {
		n.Fatal(err)
	}
	p, err := (host.Local{}).Start(n.Context(), host.Command{
		Argv: []string{"ip", "netns", "exec", nodeName, n.program, "driver", n.folder, nodeName, file, n.returns}, Merged: true,
	})
	if err != nil {
		n.Fatal(err)
	}
	n.driver = p
	log, err := os.OpenFile(filepath.Join(n.folder, "driver.log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		n.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(log, p.Stdout) // until it ends
	}()
	n.Cleanup(func() {
		_ = p.Kill()
		_ = p.Wait()
		<-read
		_ = log.Close()
		if text, _ := os.ReadFile(log.Name()); n.Failed() {
			n.Logf("the driver said:\n%s", text)
		}
	})
	if _, err := n.order(map[string]any{"register": true}); err != nil {
		n.Fatal(err)
	}
}

// order lets the kubelet do something. It has a time-out of its own for each call of the driver.
func (n *node) order(o map[string]any) ([]string, error) {
	n.Helper()
	if err := json.NewEncoder(n.kubelet.Stdin).Encode(o); err != nil {
		n.Fatal(err)
	}
	var answer struct {
		Error   string
		Devices []string
	}
	if err := n.answers.Decode(&answer); err != nil {
		n.Fatalf("the kubelet: %v, %v", err, n.kubelet.Wait())
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Devices, nil
}

// run starts a pod with a claim that is allocated. The API server is a folder.
func (n *node) run(pod string, c resource.ResourceClaim) ([]string, error) {
	n.Helper()
	n.pods++
	uid := fmt.Sprintf("pod-%d", n.pods)
	c.TypeMeta = metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}
	c.Name, c.Namespace, c.UID = pod, "default", types.UID("claim-"+uid)
	c.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: pod, UID: types.UID(uid)}}
	text, err := json.Marshal(c)
	if err != nil {
		n.Fatal(err)
	}
	if err := os.WriteFile(n.claimFile(pod), text, 0o600); err != nil {
		n.Fatal(err)
	}
	n.sh("ip netns add " + pod + "; ip -n " + pod + " link set lo up")
	claims := []map[string]string{{"namespace": c.Namespace, "uid": string(c.UID), "name": c.Name}}
	return n.order(map[string]any{"run": map[string]any{"name": pod, "namespace": "default", "uid": uid, "network": "/run/netns/" + pod, "claims": claims}})
}

// stop ends a pod; its namespace goes last, as a runtime does it.
func (n *node) stop(pod string) {
	n.Helper()
	if _, err := n.order(map[string]any{"stop": pod}); err != nil {
		n.Fatal(err)
	}
	n.sh("ip netns delete " + pod)
}

func (n *node) claimFile(pod string) string {
	return filepath.Join(n.folder, "claims", "default."+pod+".json")
}

// claim is the claim of a pod as the API server has it.
func (n *node) claim(pod string) resource.ResourceClaim {
	n.Helper()
	var c resource.ResourceClaim
	text, err := os.ReadFile(n.claimFile(pod))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		n.Fatal(err)
	}
	return c
}
