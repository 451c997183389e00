package intent

import (
	"fmt"
	"strings"
	"testing"
)

// A cluster file whose cloud cannot be made is refused, at the line that is wrong.
func TestGKE(t *testing.T) {
	const good = "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nplatform: gke\n" +
		"nodes:\n- {names: \"n[1-2]\", machine: a4-highgpu-8g}\ngke:\n  project: demo-project\n  zone: us-west8-c\nfabric: {kind: roce}\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "x", "x", ""},
		{"A3 Ultra", "a4-highgpu-8g", "a3-ultragpu-8g", ""},
		{"pods and services", "  zone:", "  pods: 10.0.0.0/14\n  services: 10.4.0.0/20\n  zone:", ""},
		{"another network may have what default has", "  zone:", "  network: ours\n  pool: 10.128.0.0/16\n  zone:", ""},
		{"zone", "us-west8-c", "us-west8", "c:9:9: gke.zone: invalid value"},
		{"project", "demo-project", "Demo-Project", "c:8:12: gke.project: invalid value"},
		{"short project", "demo-project", "demo", "c:8:12: gke.project: has 4 characters: at least 6 are needed"},
		{"no project", "  project: demo-project\n", "", "gke.project: required field is missing"},
		{"platform", "platform: gke", "platform: baremetal", "c:8:3: gke: is for platform gke only, and this is baremetal"},
		{"long name", "name: demo", "name: " + strings.Repeat("a", 41), "metadata.name: 41 characters: a cluster on gke has at most 40"},
		{"number first", "name: demo", "name: 4demo", `metadata.name: "4demo": a cluster on gke begins with a letter`},
		{"spot and reservation", "  zone:", "  spot: true\n  reservation: r\n  zone:", "gke.spot: machines of a reservation are no spot machines"},
		{"machine", "a4-highgpu-8g", "hgx-h100", `nodes[0].machine: "hgx-h100" is no machine type of Google Kubernetes Engine with RDMA networks; known: a3-ultragpu-8g, a4-highgpu-8g`},
		{"A3 Mega has no RDMA", "a4-highgpu-8g", "a3-megagpu-8g", `nodes[0].machine: "a3-megagpu-8g" is no machine type`},
		{"no machine", ", machine: a4-highgpu-8g", ", nics: \"gpu[0-7]rdma0\"", "nodes[0].machine: required field is missing"},
		{"host bits", "  zone:", "  pool: 192.168.1.0/16\n  zone:", "gke.pool: 192.168.1.0/16 has host bits set"},
		{"small pool", "  zone:", "  pool: 192.168.0.0/21\n  zone:", "gke.pool: 192.168.0.0/21 is too small: 9 subnets of a /24, each with an address for 2 machines, need a /20 or larger"},
		{"small pool for many", "x", "x", "gke.pool: 192.168.0.0/16 is too small: 9 subnets of a /19, each with an address for 5000 machines, need a /15 or larger"},
		{"more than a cluster has", "n[1-2]", "n[1-70000]", "c:6:1: nodes: 70000 machines: a cluster on gke has at most 65000"},
		{"as many as a cluster has", "n[1-2]", "n[1-65000]", ""},
		{"pool in the network default", "  zone:", "  pool: 10.160.0.0/12\n  zone:", "gke.pool: 10.160.0.0/12 overlaps 10.128.0.0/9, the addresses of network default"},
		{"pods in the pool", "  zone:", "  pods: 192.168.128.0/17\n  zone:", "gke.pods: 192.168.128.0/17 overlaps 192.168.0.0/16, gke.pool"},
		{"services in the pods", "  zone:", "  pods: 10.0.0.0/14\n  services: 10.1.0.0/20\n  zone:", "gke.services: 10.1.0.0/20 overlaps 10.0.0.0/14, gke.pods"},
		{"loopback", "  zone:", "  pool: 127.0.0.0/8\n  zone:", "gke.pool: 127.0.0.0/8 overlaps 127.0.0.0/8, loopback"},
		{"word", "  zone:", "  zones:", `gke.zones: unknown field; did you mean "zone"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if c.name == "small pool for many" {
				text = strings.Replace(strings.Replace(good, "n[1-2]", "n[1-5000]", 1), "  zone:", "  pool: 192.168.0.0/16\n  zone:", 1)
			}
			_, err := Parse("c", []byte(text), load(t))
			if have := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(have, c.want) {
				t.Errorf("%s\nwant %s", have, c.want)
			}
		})
	}
}
