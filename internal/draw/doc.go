// Package draw turns a plan and a mesh into pictures: SVG text for a page, plain text for a terminal.
// It computes no verdict: each is drawn as given, and what was not measured is drawn as such.
//
// Every function builds its picture in memory and writes it once, so that the only error is the writer's.
package draw
