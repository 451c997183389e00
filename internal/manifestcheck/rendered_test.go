package manifestcheck

import (
	"os"
	"path/filepath"
	"testing"
)

// What the program itself renders, read as anybody's text: nothing in it fails.
func TestRendered(t *testing.T) {
	var texts []string
	for _, room := range []string{"serve", "podtest"} {
		files, err := filepath.Glob("../render/kubernetes/" + room + "/testdata/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, files...)
	}
	if len(texts) < 10 {
		t.Fatalf("%d rendered files", len(texts))
	}
	for _, file := range texts {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if ids := failing(judge(t, string(b))); len(ids) > 0 {
			t.Errorf("%s: %v", file, ids)
		}
	}
}
