package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// What is streamed is the same document as the one that is written whole.
func TestFindingsWriter(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			want := fabric.Findings{Meta: fabric.NewMeta("Findings"), Findings: []fabric.Finding{}}
			var b bytes.Buffer
			w := NewFindingsWriter(&b)
			for range n {
				one := fabric.Finding{ID: "mtu", Title: "a \"title\"", Status: fabric.Fail, Subject: fabric.NICSubject("host1", "eth1")}
				want.Findings = append(want.Findings, one)
				want.Summary.Count(one.Status)
				w.Write(one)
			}
			if err := w.Close(want.Summary, nil); err != nil {
				t.Fatal(err)
			}
			var got fabric.Findings
			if err := json.Unmarshal(b.Bytes(), &got); err != nil {
				t.Fatalf("%v in %s", err, b.String())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d findings (-want +got):\n%s", n, diff)
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestFindingsWriterTellsOfAFullDisk(t *testing.T) {
	w := NewFindingsWriter(full{})
	w.Write(fabric.Finding{})
	if err := w.Close(fabric.Summary{}, nil); err == nil {
		t.Error("no error")
	}
}
