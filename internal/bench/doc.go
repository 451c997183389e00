// Package bench schedules which machine tests which, runs the tests on the cluster's machines and returns
// measurements. It gives no verdict: its caller does.
package bench
