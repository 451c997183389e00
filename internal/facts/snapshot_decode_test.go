package facts

import (
	"encoding/json"
	"reflect"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"railwright.dev/railwright/internal/fabric"
)

// What one file has leaves nothing in the facts of the next.
func TestDecoderKeepsNothing(t *testing.T) {
	const head = `{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":"a","source":"live"`
	used := newDecoder()
	for _, text := range []string{
		head + `,"nics":[{"name":"eth1","mtu":9000},{"name":"eth2"}],"hcas":[{"name":"mlx5_0"}],"gpus":[{"pci":"0000:01:00.0"}],"pci":[{"address":"0000:01:00.0"}]}`,
		head + `,"nics":[{"name":"eth1"},{"name":"eth2","mtu":1500},{"name":"eth3"}]}`,
		head + `}`,
		head + `,"nics":[{"name":"eth1"}],"pci":[{"address":"0000:01:00.0"},{"address":"0000:02:00.0"}]}`,
		head + `,"nics":[],"pci":null,"gpus":[]}`,
		head + `,"nics":[{}],"pci":[{}],"hcas":[{}]}`,
	} {
		want, err := newDecoder().parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		have, err := used.parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, have) {
			t.Errorf("%s: %+v, want %+v", text, have, want)
		}
	}
}

// Facts that this program wrote are not decoded twice, and come to what encoding/json reads in them.
func TestDecodedAtOnce(t *testing.T) {
	for name, f := range map[string]*fabric.Facts{"a node": wholeNode("a", 1), "GPUs": gpuFacts()} {
		f.Meta = fabric.NewMeta("Facts")
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var got, want fabric.Facts
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := jsonv2.Unmarshal(text, &got, jsonv2.RejectUnknownMembers(true)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v: %+v, want %+v", name, err, got, want)
		}
	}
}
