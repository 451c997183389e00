// Package fabric holds the nouns of the program, one struct a noun, with their text forms.
// Every other package speaks in these values. It does no input or output.
package fabric

// APIVersion marks every document that the program writes or reads.
const APIVersion = "railwright.dev/v1alpha1"

// Meta is the head of every saved document: which kind it is, in which version of the format.
type Meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// NewMeta heads a document of this kind in the current version.
func NewMeta(kind string) Meta { return Meta{APIVersion: APIVersion, Kind: kind} }
