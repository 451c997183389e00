// Package spark knows how a DGX Spark is built: one ConnectX-7 with two QSFP ports, each served by two PCI functions, its
// twins, in two PCI domains. From the facts of a machine it says whether it is one and what its ports are like; from those
// of several, which port is cabled to which and what that makes. It is pure, and knows neither plan nor rules.
package spark
