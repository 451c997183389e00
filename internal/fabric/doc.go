// Package fabric contains the nouns of the program, one struct per noun, with their text forms.
// Every other package uses these values. It does no input or output.
package fabric

// APIVersion marks every document that the program writes or reads.
const APIVersion = "railwright.dev/v1alpha1"

// Meta is the header of every saved document: its kind and the version of the format.
type Meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// NewMeta returns the header of a document of this kind in the current version.
func NewMeta(kind string) Meta { return Meta{APIVersion: APIVersion, Kind: kind} }
