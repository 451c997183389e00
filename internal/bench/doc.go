// Package bench says who tests whom and when, runs the tests on the cluster's machines and brings back
// measurements. It gives no verdict: its caller does.
package bench
