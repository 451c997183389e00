package junos

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// places are the stanzas that people paste without what encloses them.
var places = [][]string{
	{"class-of-service"}, {"class-of-service", "classifiers"}, {"class-of-service", "forwarding-classes"}, {"class-of-service", "shared-buffer"},
	{"class-of-service", "rewrite-rules"}, {"protocols"}, {"system"}, {"routing-options"}, {"protocols", "bgp"},
}

// hoist puts a whole excerpt below the stanza from which it was taken, where its statements show that.
func (t *tree) hoist(statements []*statement) {
	top, cos := t.root.schema, t.root.schema.kids["class-of-service"]
	inside := false
	for _, s := range statements {
		if len(s.words) == 0 || s.base != nil {
			continue
		}
		first := s.words[0].text
		if first != "interfaces" && top.kids[first] != nil {
			return
		}
		inside = inside || cos.kids[first] != nil && (first != "interfaces" || attaches(s))
	}
	if !inside {
		return
	}
	for _, s := range statements {
		if s.base == nil {
			s.base = []string{"class-of-service"}
		}
	}
}

// attaches reports whether a statement of interfaces is one of class-of-service.
func attaches(s *statement) bool {
	for _, w := range s.words {
		switch w.text {
		case "scheduler-map", "congestion-notification-profile", "classifiers", "rewrite-rules", "forwarding-class-set":
			return true
		}
	}
	return slices.ContainsFunc(s.block, attaches)
}

// start returns the node below which a statement stands. Its own words decide where they begin at the top; else the place
// that the text named before it, else the one place where all of it is understood.
func (t *tree) start(s *statement) *junosNode {
	first := s.words[0].text
	top := t.root.schema
	based := t.schemaAt(s.base)
	if based != nil && (top.kids[first] == nil || s.verb == "" || based.below(first) != nil && based.any == nil) {
		if based.below(first) != nil || noise[first] {
			return t.reach(s.base, s.words[0].at)
		}
	}
	if top.below(first) != nil || noise[first] {
		return t.root
	}
	if place := t.guess(s); place != nil {
		return t.reach(place, s.words[0].at)
	}
	return t.root
}

func (t *tree) schemaAt(path []string) *junosSchema {
	if len(path) == 0 {
		return nil
	}
	s := t.root.schema
	for _, word := range path {
		if s = s.below(word); s == nil || s.kind != 0 {
			return nil
		}
	}
	return s
}

// guess finds the stanza from which an excerpt was taken: the one in which all of it is understood, the outermost first.
func (t *tree) guess(s *statement) []string {
	first := s.words[0].text
	if junosPort(first) || first == "interface-range" || first == "all" {
		if attaches(s) {
			return []string{"class-of-service", "interfaces"}
		}
		return []string{"interfaces"}
	}
	for _, place := range places {
		schema := t.schemaAt(place)
		if schema == nil || schema.kids[first] == nil {
			continue
		}
		trial := &tree{root: &junosNode{schema: schema, by: map[string]*junosNode{}}, quiet: true}
		trial.place(trial.root, s.words, s)
		if trial.misses == 0 {
			return place
		}
	}
	return nil
}

// reach returns the node of a path, made where it is not there yet.
func (t *tree) reach(path []string, at fabric.Line) *junosNode {
	n := t.root
	for _, word := range path {
		n = n.grow(word, at, n.schema.below(word))
	}
	return n
}
