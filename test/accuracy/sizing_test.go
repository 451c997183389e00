package main

import (
	"bytes"
	"os"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

const (
	servedTable   = "../../../shared/data/sizing/measured_perf_public.csv"
	documentCurve = "../../../shared/data/collectives/P02_vmware_h100_2n_ar.json"
	testConfigs   = "../../" + configs
)

// TestServing holds time per token and time to the first token to their bars.
func TestServing(t *testing.T) {
	if _, err := os.Stat(servedTable); err != nil {
		t.Skipf("the measurements are not here: %v", err)
	}
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	missed, err := printServed(&out, cat, servedTable, testConfigs)
	t.Log(out.String())
	if err != nil || missed > 0 {
		t.Errorf("%d bars missed, %v", missed, err)
	}
}

// TestDocumentThroughput holds the throughput of the VMware document to its bars.
func TestDocumentThroughput(t *testing.T) {
	if _, err := os.Stat(documentCurve); err != nil {
		t.Skipf("the curve is not here: %v", err)
	}
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	missed, err := printDocument(&out, cat, documentCurve)
	t.Log(out.String())
	if err != nil || missed > 0 {
		t.Errorf("%d bars missed, %v", missed, err)
	}
}

// TestSizingReport holds everything about models to its bars.
func TestSizingReport(t *testing.T) {
	const data = "../../../shared/data/sizing"
	if _, err := os.Stat(data); err != nil {
		t.Skipf("the measurements are not here: %v", err)
	}
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if !sizingReport(&out, cat, sizingFolders{sizing: data, curve: documentCurve, configs: testConfigs}) {
		t.Errorf("bars missed:\n%s", out.String())
	}
}
