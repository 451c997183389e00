// Package causes holds what is known of each cause: what it is, how likely it is before anything was seen, what proves it
// and what fixes it; and the catalogue of next measurements with what each cause would show. Both are hand-written YAML
// under data; Next chooses from the catalogue what is expected to tell most for its cost.
package causes
