package switchos

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEOSGolden(t *testing.T) {
	for _, c := range sonicCases {
		t.Run(c.name, func(t *testing.T) {
			got := eos{}.Render(leaf(c.routed), c.traffic)
			if again := (eos{}).Render(leaf(c.routed), c.traffic); !bytes.Equal(got.Text, again.Text) {
				t.Error("two renders differ")
			}
			text := string(got.Text) + "-- not in it --\n" + strings.Join(got.Omits, "\n") + "\n"
			file := filepath.Join("testdata", "eos-"+strings.ReplaceAll(c.name, " ", "-")+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}
