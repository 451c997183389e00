//go:build !race

package collective

// slack is by how much a test may be slower than its bar.
const slack = 1
