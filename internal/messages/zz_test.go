package messages

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestZZ(t *testing.T) {
	b, _ := os.ReadFile("/tmp/lines.txt")
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(string(b), "\n") {
		if m, ok := c.Find(l); ok {
			fmt.Println("  ", m.ID, m.Level, m.Feature, m.Signs, "<-", l[:min(len(l), 150)])
		} else {
			fmt.Println("   -- <-", l[:min(len(l), 150)])
		}
	}
}
