package apply

import (
	"context"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestProveKeyfile(t *testing.T) {
	const text = "# Ours.\n[connection]\nid=railwright-eth1\ntype=ethernet\ninterface-name=eth1\n\n[ethernet]\nmtu=9000\n\n[ipv4]\naddress1=10.64.0.1/31\nmethod=manual\n"
	prove := func(text string) (fabric.Proof, string) {
		return proveKeyfile(context.Background(), Bundle{}, fabric.Artifact{Path: keyfileFolder + "/railwright-eth1.nmconnection", Content: []byte(text)}, Activation{})
	}
	p, refused := prove(text)
	if p.Level == fabric.Rendered && refused == "" {
		t.Skip(p.Reason)
	}
	if p.Level != fabric.Parsed || refused != "" {
		t.Errorf("%+v, %s", p, refused)
	}
	if p, refused := prove(strings.Replace(text, "mtu=", "mtuu=", 1)); p.Level != fabric.Rendered || !strings.Contains(refused, "[ethernet] mtuu=9000") {
		t.Errorf("%+v, %s", p, refused)
	}
}

func TestProveKeyfileWithoutNetworkManager(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if p, refused := proveKeyfile(context.Background(), Bundle{}, fabric.Artifact{}, Activation{}); p.Level != fabric.Rendered || p.Reason != "nmcli is not installed" || refused != "" {
		t.Errorf("%+v, %s", p, refused)
	}
}
