package manifestcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

func TestTry(t *testing.T) {
	paths, _ := filepath.Glob(os.Getenv("TRY"))
	for _, p := range paths {
		b, _ := os.ReadFile(p)
		f, err := manifest.Read(filepath.Base(p), b)
		if err != nil {
			fmt.Println("==", p, err)
			continue
		}
		fmt.Println("==", p)
		for _, x := range Judge(&Input{Files: []*manifest.File{f}, GPUs: []GPU{{ID: "b200", TotalGiB: 178.35}, {ID: "h100-sxm", TotalGiB: 79.18}, {ID: "gb300", TotalGiB: 277}}}) {
			if x.Status == fabric.Fail || x.Status == fabric.Unknown || os.Getenv("V") != "" {
				fmt.Println("  ", x.Status, x.ID, x.Cause, "|", x.Subject, "|", x.Why, x.Evidence)
			}
		}
	}
}
