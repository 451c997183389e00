package fabric

// Artifact is a rendered file for one target.
type Artifact struct {
	Target  string   `json:"target"`            // node or switch
	Path    string   `json:"path"`              // absolute, on the target
	Mode    uint32   `json:"mode"`              // permission bits
	SHA256  string   `json:"sha256"`            // of Content, hexadecimal
	File    string   `json:"file"`              // its path below the folder of a render
	Doc     string   `json:"doc,omitempty"`     // of one for a person: what it is
	Omits   []string `json:"omits,omitempty"`   // what the target needs but the plan does not contain, so that the file lacks it
	Content []byte   `json:"content,omitempty"` // absent in an index
}

// Index lists what was rendered, sorted by target and path. Its own SHA-256 identifies the whole.
type Index struct {
	Meta
	Artifacts []Artifact `json:"artifacts"`
	Missing   []Missing  `json:"missing,omitempty"` // targets for which nothing could be rendered, and why
}
