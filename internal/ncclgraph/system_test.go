package ncclgraph

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/ncclxml"
)

// readDocument reads a topology file with an ordinary XML reader, so that these tests do not rest on NCCL's rules of
// reading.
func readDocument(t testing.TB, file string) *ncclxml.Document {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) && strings.HasPrefix(file, "../") {
		t.Skipf("%s is not here", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := decodeDocument(f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func decodeDocument(r io.Reader) (*ncclxml.Document, error) {
	d := &ncclxml.Document{}
	var at *ncclxml.Element
	for decoder := xml.NewDecoder(r); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &ncclxml.Element{Name: token.Name.Local, Parent: at}
			for _, a := range token.Attr {
				e.Set(a.Name.Local, a.Value)
			}
			if at == nil {
				d.Roots = append(d.Roots, e)
			} else {
				at.Children = append(at.Children, e)
			}
			at = e
		case xml.EndElement:
			at = at.Parent
		}
	}
}

func newSystem(t testing.TB, d *ncclxml.Document, o Options) *System {
	t.Helper()
	s, err := NewSystem(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSystemPrintsWhatNCCLPrinted(t *testing.T) {
	// NCCL 2.28.9 on two H200 of a virtual machine: what it was given, and what each of its two ranks printed.
	text, err := os.ReadFile("testdata/system/h200x2.log")
	if err != nil {
		t.Fatal(err)
	}
	logged := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		rank, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " NCCL INFO ")
		if !strings.Contains(said, " coll channels, ") { // 24 coll channels, 24 collnet channels, 0 nvls channels, ...
			logged[rank] = append(logged[rank], said)
		}
	}
	if len(logged) != 2 {
		t.Fatalf("%d ranks, want 2", len(logged))
	}
	s := newSystem(t, readDocument(t, "testdata/system/h200x2.xml"), Options{Env: map[string]string{"NCCL_NVLS_ENABLE": "0"}})
	lines := s.Log()
	for rank, said := range logged {
		sameLines(t, rank, lines[:len(lines)-1], said)
	}
	if got, want := lines[len(lines)-1], "24 coll channels, 0 nvls channels"; got != want {
		t.Errorf("%q, want %q: NCCL ran 24", got, want)
	}
}

func sameLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nNCCL printed:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSystemBelievesWhatNCCLBelieved(t *testing.T) {
	dir := "../../../shared/data/nccl-xml"
	text, err := os.ReadFile(filepath.Join(dir, "outcomes.json"))
	if err != nil {
		t.Skip(err)
	}
	var file struct {
		Outcomes map[string]struct {
			Exit  int
			PCI   []string `json:"pci_gbs"`
			NVL   []string `json:"nvl_gbs"`
			Paths []string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, want := range file.Outcomes {
		if want.Exit != 0 || name == "empty" { // empty: NCCL read the machine instead
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, readDocument(t, filepath.Join(dir, name+".xml")), Options{})
			first, _ := strings.CutPrefix(s.PathLines()[0], "GPU/0-60 :")
			if !slices.Contains(want.Paths, first) {
				t.Errorf("paths %q, NCCL had %q", first, want.Paths)
			}
			tree := strings.Join(s.Lines(), "\n")
			for _, rate := range want.PCI {
				if rate, ok := strings.CutPrefix(rate, "sw:"); ok {
					if !strings.Contains(tree, "PCI["+rate+"] - PCI/") {
						t.Errorf("no switch at %s in\n%s", rate, tree)
					}
				} else if !strings.Contains(tree, "PCI["+rate+"] - GPU/") {
					t.Errorf("no GPU at %s in\n%s", rate, tree)
				}
			}
			for _, rate := range want.NVL {
				if !strings.Contains(tree, "NVL["+rate+"] - NVS/0-0") {
					t.Errorf("no NVLink at %s in\n%s", rate, tree)
				}
			}
		})
	}
	if seen < 5 {
		t.Errorf("only %d outcomes compared", seen)
	}
}
