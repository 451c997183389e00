package script

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestServe(t *testing.T) {
	if os.Getenv("VCSIM_SERVE") == "" {
		t.Skip()
	}
	o := map[string]string{}
	for _, kv := range []string{"hosts", "vms", "machine", "short"} {
		o[kv] = os.Getenv("VCSIM_" + kv)
	}
	v, err := startVCSim(o)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(os.Getenv("VCSIM_SERVE"), []byte(fmt.Sprintf("export VCENTER=%s\nexport THUMBPRINT=%s\nexport RAILWRIGHT_VCENTER_USER=%s\nexport RAILWRIGHT_VCENTER_PASSWORD='%s'\n", v.server.URL.Host, v.thumbprint(), vcsimUser, vcsimPassword)), 0o600)
	time.Sleep(40 * time.Minute)
}
