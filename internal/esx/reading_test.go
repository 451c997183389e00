package esx

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestDump(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/data/captures/*.txt")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		r := Read(map[string][]byte{f: text})
		out, _ := json.Marshal(r.ESX)
		fmt.Println(filepath.Base(f), r.Proven, string(out))
		for _, p := range r.PCI {
			fmt.Printf("   PCI %+v\n", p)
		}
		for _, m := range r.Missing {
			fmt.Println("   MISSING", m)
		}
		n := filepath.Base(f)
		if n <= "36.txt" || n >= "80.txt" {
			for _, u := range r.Unread {
				fmt.Println("   UNREAD", u)
			}
		}
	}
}
