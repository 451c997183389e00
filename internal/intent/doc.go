// Package intent reads the cluster file: what the owner of a cluster decided, and nothing that can be
// discovered or defaulted.
//
// [Parse] is strict and complete: it reports every problem of a file at once, each with its line, column
// and field, and it gives a [Cluster] only where there was none. What the fields mean is written once, in
// the tags of the Go types: [Schema] makes the JSON Schema for editors from them, and Parse judges by
// that same schema, so that an editor and the command line agree. What a schema cannot say (a host listed
// twice, a pool too small for its hosts) is checked on top, and the defaults stand in defaults.go.
//
// [Example] and [FromFacts] write commented cluster files. [LeafCount] and [NeededPrefix] hold the two
// rules that these files, the validation and the plan share: how many leaf switches carry the hosts, and
// how large the address pool has to be.
package intent
