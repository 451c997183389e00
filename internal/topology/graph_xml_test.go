package topology

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestGraphFile(t *testing.T) {
	want, err := os.ReadFile("testdata/system/h200x2-graph.xml")
	if err != nil {
		t.Fatal(err)
	}
	s := newSystem(t, readDocument(t, "testdata/system/h200x2.xml"), SystemOptions{Env: map[string]string{"NCCL_NVLS_ENABLE": "0"}})
	graphs := s.Graphs()
	for i, g := range graphs { // NCCL dumps what it did not search as it was before the search
		if g.Channels == 0 {
			graphs[i].SameChannels = false
		}
	}
	var b bytes.Buffer
	if err := s.WriteGraphs(&b, graphs); err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("wrote\n%s\nNCCL dumped\n%s", b.String(), want)
	}
	read, err := s.ReadGraphs(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range graphs {
		g.Note = ""
		if !reflect.DeepEqual(read[i], g) {
			t.Errorf("read %+v, want %+v", read[i], g)
		}
	}
	inter := newSystem(t, hgxH100().document(), SystemOptions{Nodes: 2})
	b.Reset()
	if err := inter.WriteGraphs(&b, inter.Graphs()); err != nil {
		t.Fatal(err)
	}
	again, err := inter.ReadGraphs(&b)
	if err != nil || !reflect.DeepEqual(again[0], inter.Graphs()[0]) {
		t.Errorf("%v: read %+v, want %+v", err, again[0], inter.Graphs()[0])
	}
}

func TestGraphFileErrors(t *testing.T) {
	s := newSystem(t, readDocument(t, "testdata/system/h200x2.xml"), SystemOptions{})
	graph := `<graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="30" speedinter="30" typeintra="NVL" typeinter="PIX" samechannels="1">`
	for text, want := range map[string]string{
		``:                                 "no <graphs>",
		`<system/>`:                        "root is <system>",
		`<graphs><channel/></graphs>`:      "outside <graph>",
		`<graphs><graph id="0"/></graphs>`: `no attribute "pattern"`,
		`<graphs>` + graph + `<gpu dev="0"/></graph></graphs>`:                               "outside <channel>",
		`<graphs>` + graph + `<channel><gpu dev="7"/></channel></graph></graphs>`:            "gpu dev 0x7: not one of 0, 0x1",
		`<graphs>` + graph + `<channel><gpu/></channel></graph></graphs>`:                    `no attribute "dev"`,
		`<graphs>` + strings.Replace(graph, `"NVL"`, `"NVX"`, 1) + `</graph></graphs>`:       `path type "NVX"`,
		`<graphs>` + strings.Repeat("<channel/>", maxGraphXML) + `</graphs>`:                 "outside <graph>",
		`<graphs>` + graph + strings.Repeat("<channel/>", maxGraphXML) + `</graph></graphs>`: "more than 65536 elements",
	} {
		if _, err := s.ReadGraphs(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadGraphs(f *testing.F) {
	text, err := os.ReadFile("testdata/system/h200x2-graph.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`<graphs><graph id="0"><channel><net dev="0x1"/></channel></graph></graphs>`))
	s := newSystem(f, readDocument(f, "testdata/system/h200x2.xml"), SystemOptions{})
	f.Fuzz(func(t *testing.T, text []byte) {
		graphs, err := s.ReadGraphs(bytes.NewReader(text))
		if err == nil {
			for _, g := range graphs {
				s.GraphLines(g)
			}
		}
	})
}
