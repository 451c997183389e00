// Package bench says who tests whom and when, runs the tests on the cluster's machines and brings back
// measurements. It judges nothing: whoever calls it does.
package bench
