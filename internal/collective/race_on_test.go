//go:build race

package collective

// slack is by how much a test may be slower than its bar: the race detector takes its time.
const slack = 20
