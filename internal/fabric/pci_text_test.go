package fabric

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPCITextForms(t *testing.T) {
	for _, tt := range []struct {
		device PCIDevice
		json   string
	}{
		{PCIDevice{Link: &PCILink{2.5, 1, 32, 16}}, `"link":"x1@2.5 of x16@32"`},
		{PCIDevice{Link: &PCILink{}}, `"link":"x0@0 of x0@0"`},
		{PCIDevice{ACS: &ACS{Present: true, Capability: 0x5f, Control: 0x1d}}, `"acs":"005f/001d"`},
		{PCIDevice{ACS: &ACS{}}, `"acs":"none"`},
		{PCIDevice{ATS: &ATS{Present: true, Enabled: true}}, `"ats":"on"`},
		{PCIDevice{ATS: &ATS{Present: true}}, `"ats":"off"`},
		{PCIDevice{ATS: &ATS{}}, `"ats":"none"`},
		{PCIDevice{Control: &PCIControl{256, 512, true, true}}, `"control":"256/512 ro et"`},
		{PCIDevice{Control: &PCIControl{128, 4096, false, false}}, `"control":"128/4096"`},
	} {
		t.Run(tt.json, func(t *testing.T) {
			text, err := json.Marshal(tt.device)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"address":"","vendor":0,"device":0,"class":0,` + tt.json + `}`; string(text) != want {
				t.Errorf("got %s, want %s", text, want)
			}
			var back PCIDevice
			if err := json.Unmarshal(text, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.device, back); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.json, diff)
			}
		})
	}
	for _, bad := range []string{`{"link":"fast"}`, `{"link":"x16@32"}`, `{"acs":"zz"}`, `{"ats":"maybe"}`, `{"control":""}`, `{"control":"256"}`, `{"control":"256/512 xx"}`} {
		if err := json.Unmarshal([]byte(bad), new(PCIDevice)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
