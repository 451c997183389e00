package plainjson

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

type part struct {
	Name string   `json:"name"`
	Many []int8   `json:"many,omitempty"`
	One  *float32 `json:"one,omitempty"`
}

type document struct {
	Head
	Parts  []part            `json:"parts,omitempty"`
	Counts map[string]uint16 `json:"counts,omitempty"`
	Nested map[string]part   `json:"nested,omitempty"`
	At     netip.Addr        `json:"at"`
	Is     *bool             `json:"is,omitempty"`
	Plain  bool
	Left   int `json:"-"`
}

// Head is a part whose fields are those of its document.
type Head struct {
	Kind string `json:"kind"`
}

// seeds are texts as the type writes them, and as it does not.
var seeds = []string{
	`{}`, ` { "kind" : "a" } `, `{"kind":"a\u003cb\"","parts":[{"name":"é"},{"many":[1,-2,0],"one":1.5e3}],"counts":{"a":1,"b":65535},"nested":{"x":{"name":""}},"at":"10.0.0.1","is":true,"Plain":false}`,
	`{"parts":[]}`, `{"parts":null}`, `{"Kind":"a"}`, `{"kind":"a","kind":"b"}`, `{"unknown":1}`, `{"at":"x"}`, `{"at":""}`, `{"counts":{"a":65536}}`, `{"counts":{"a":-1}}`, `{"counts":{"a":1,"a":2}}`,
	`{"parts":[{"many":[128]}]}`, `{"parts":[{"many":[1.0]}]}`, `{"parts":[{"many":[01]}]}`, `{"parts":[{"many":[-]}]}`, `{"parts":[{"one":1e400}]}`, `{"parts":[{"one":.5}]}`, `{"parts":[{"one":5.}]}`, `{"parts":[{}{}]}`, `{"parts":[{},]}`, `{"parts":[,{}]}`,
	`{"kind":"\ud800"}`, "{\"kind\":\"\xff\"}", "{\"kind\":\"a\nb\"}", `{"kind":"a\`, `{"is":true1}`, `{"is":tru`, `{"kind":"a"} x`, `{"kind":"a"}{}`, `[]`, ``, `{`, `{"kind"`, `{"kind":`, `{"kin\u0064":"a"}`, `{"-":1}`, `null`,
}

// Whatever is decoded here encoding/json decodes to the same.
func FuzzDecode(f *testing.F) {
	for _, text := range seeds {
		f.Add(text, text)
	}
	all := TypeOf[document]()
	f.Fuzz(func(t *testing.T, first, text string) {
		d := all.NewDecoder()
		d.Decode([]byte(first), &document{}) // leaves nothing
		var got, want document
		if !d.Decode([]byte(text), &got) {
			return
		}
		in := json.NewDecoder(strings.NewReader(text))
		in.DisallowUnknownFields()
		if err := in.Decode(&want); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	})
}

// What a program writes is decoded.
func TestWritten(t *testing.T) {
	half, is := float32(0.5), false
	for _, of := range []document{
		{}, {Head: Head{"a"}, Parts: []part{{Name: "<é\x00\"", Many: []int8{-128, 127}, One: &half}, {}}, Counts: map[string]uint16{"": 0, "b": 65535}, Nested: map[string]part{"x": {}}, At: netip.MustParseAddr("::1"), Is: &is, Plain: true},
	} {
		for _, indent := range []string{"", "  "} {
			text, err := json.MarshalIndent(of, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			var got document
			if !TypeOf[document]().NewDecoder().Decode(text, &got) || !reflect.DeepEqual(got, of) {
				t.Errorf("%s: %+v, want %+v", text, got, of)
			}
		}
	}
}

// Lists keep their room, and a string that comes again is not another.
func TestRoom(t *testing.T) {
	d := TypeOf[document]().NewDecoder()
	of := document{Parts: make([]part, 0, 8)}
	room := &of.Parts[:1][0]
	if !d.Decode([]byte(`{"parts":[{"name":"eth1"},{"name":"eth2"}]}`), &of) || &of.Parts[0] != room {
		t.Errorf("%+v", of)
	}
	if n := testing.AllocsPerRun(100, func() { d.Decode([]byte(`{"kind":"eth1"}`), &document{}) }); n > 2 { // the text and the document
		t.Errorf("%v allocations", n)
	}
}

func TestOtherTypes(t *testing.T) {
	for name, of := range map[string]func(){
		"any":    func() { TypeOf[any]() },
		"base64": func() { TypeOf[[]byte]() },
		"quoted": func() {
			TypeOf[struct {
				A int `json:",string"`
			}]()
		},
		"itself": func() { TypeOf[json.RawMessage]() },
		"keys":   func() { TypeOf[map[int]int]() },
		"the same": func() {
			TypeOf[struct {
				Head
				B int `json:"kind"`
			}]()
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is decoded", name)
				}
			}()
			of()
		}()
	}
}
