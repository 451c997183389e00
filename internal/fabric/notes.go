package fabric

// Notes are what people write down of a few machines whose ports are two PCIe functions each (DGX Spark): numbers in
// sentences and tables, and choices that stand between them. Programs have kinds of their own.
type Notes struct {
	Machine string        `json:"machine"` // by what the machines were recognised, as it stands in the text
	Basis   NotedBasis    `json:"basis"`
	Numbers []NotedNumber `json:"numbers,omitempty"`
	Facts   []NotedFact   `json:"facts,omitempty"`
}

func (*Notes) resultContent() {}

// NotedBasis is how well a machine was recognised. The zero value is unknown.
type NotedBasis string

// The ways to recognise a machine, from the surest.
const (
	NotedNamed   NotedBasis = "named"   // its name, or that of its GPU
	NotedDevices NotedBasis = "devices" // devices in the PCI domains of this machine
	NotedNames   NotedBasis = "names"   // names of interfaces that other machines have as well
)

// NotedTest is what a number is of. The zero value is unknown.
type NotedTest string

// What numbers of notes are of.
const (
	NotedRDMA       NotedTest = "rdma"
	NotedTCP        NotedTest = "tcp"
	NotedCollective NotedTest = "collective"
)

// NotedState says on which side of a change a number stands. The zero value is unknown.
type NotedState string

// The sides of a change.
const (
	NotedBefore NotedState = "before"
	NotedAfter  NotedState = "after"
)

// NotedNumber is a bandwidth that somebody wrote down.
type NotedNumber struct {
	Line     int        `json:"line"`
	Text     string     `json:"text"`            // the line
	Label    string     `json:"label,omitempty"` // what stands around it: a heading, the other cells of the row
	Test     NotedTest  `json:"test,omitempty"`
	Gbps     float64    `json:"gbps"`             // bits, also where bytes were written
	Bytes    bool       `json:"bytes,omitempty"`  // it was written in bytes
	Device   string     `json:"device,omitempty"` // the one that it is of; empty: unknown, or several
	Parts    []float64  `json:"parts,omitempty"`  // of which it is the sum, Gb/s
	Together bool       `json:"together,omitempty"`
	Column   int        `json:"column,omitempty"` // of a table, from 1; 0: a sentence
	State    NotedState `json:"state,omitempty"`
	Size     int64      `json:"size,omitempty"` // of the message, bytes; 0: unknown
	Socket   bool       `json:"socket,omitempty"`
}

// NotedFact is something that a line says beside numbers.
type NotedFact struct {
	What  string `json:"what"`  // override, oob, gids, ...
	Value string `json:"value"` // its words, separated by blanks
	Line  int    `json:"line"`
	Text  string `json:"text"`
}
