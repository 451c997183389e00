package facts

import (
	"cmp"
	"slices"
)

// pair is a thing of both sides, or of one alone.
type pair[T any] struct{ a, b *T }

// match pairs the things of two lists: by each key in its turn, where it is not empty and stands once on
// either side, then those of one kind in the order of the lists. What is left over stands alone.
func match[T any](a, b []T, kind func(*T) string, keys ...func(*T) string) []pair[T] {
	leftA, leftB := pointers(a), pointers(b)
	var out []pair[T]
	for _, key := range keys {
		byA, byB := unique(leftA, key), unique(leftB, key)
		leftA = slices.DeleteFunc(leftA, func(x *T) bool {
			y := byB[key(x)]
			if y == nil || byA[key(x)] == nil {
				return false
			}
			out = append(out, pair[T]{x, y})
			return true
		})
		leftB = slices.DeleteFunc(leftB, func(y *T) bool { return byA[key(y)] != nil && byB[key(y)] != nil })
	}
	for _, x := range leftA {
		at := slices.IndexFunc(leftB, func(y *T) bool { return kind(x) != "" && kind(x) == kind(y) })
		if at < 0 {
			out = append(out, pair[T]{a: x})
			continue
		}
		out = append(out, pair[T]{x, leftB[at]})
		leftB = slices.Delete(leftB, at, at+1)
	}
	for _, y := range leftB {
		out = append(out, pair[T]{b: y})
	}
	return out
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// unique finds the things whose key no other has.
func unique[T any](list []*T, key func(*T) string) map[string]*T {
	out := make(map[string]*T)
	for _, x := range list {
		k := key(x)
		if k == "" {
			continue
		}
		if _, again := out[k]; again {
			out[k] = nil
			continue
		}
		out[k] = x
	}
	return out
}

// pairing knows how a thing is called on either side.
type pairing struct{ toB, toA map[string]string }

func newPairing() pairing { return pairing{map[string]string{}, map[string]string{}} }

func (p pairing) add(a, b string) { p.toB[a], p.toA[b] = b, a }

// ofA names a thing of side a with the names of both sides, in an order that depends on neither.
func (p pairing) ofA(a string) string { return bothNames(a, cmp.Or(p.toB[a], a)) }

// ofB names a thing of side b likewise.
func (p pairing) ofB(b string) string { return bothNames(b, cmp.Or(p.toA[b], b)) }

func bothNames(x, y string) string {
	if x == y {
		return x
	}
	return min(x, y) + " or " + max(x, y)
}
