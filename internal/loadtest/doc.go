// Package loadtest reads what load generators measured of a served model, judges whether the numbers can be what they
// claim to be, puts the loads of a workload on one line, and renders the commands that measure it. It also judges the
// answers of an API. It is pure: it opens nothing and sends nothing.
package loadtest
