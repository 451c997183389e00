// Package nic knows the NICs of the RoCE vendors, one file a vendor and a tool: what is to be run and written on a host, what
// the tools and files print about traffic classes and stored options, and which command asks for it. It is pure: text in,
// values out, and the same bytes for the same part. A block that a text lacks is unknown, never a default; a text that
// contradicts itself, or that is not what its tool prints, is an error.
package nic
