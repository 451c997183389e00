package topology

import "cmp"

// cost orders the choices of an assignment: first by distance, then by the tie-breaker. Sums stay far below 1<<63:
// a matrix has at most 1024 devices.
type cost [3]int64

func (a cost) plus(b cost) cost  { return cost{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func (a cost) minus(b cost) cost { return cost{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a cost) less(b cost) bool {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2])) < 0
}

// assign maps each of rows items to a different one of columns items, so that the sum of the costs is
// minimal; rows must not be more than columns. It is the shortest augmenting path form of the Hungarian method
// (Jonker and Volgenant, 1987): rows * rows * columns steps.
func assign(rows, columns int, of func(row, column int) cost) []int {
	const none = 0 // rows and columns count from 1, 0 is the free column of each round
	u, v := make([]cost, rows+1), make([]cost, columns+1)
	rowOf, way := make([]int, columns+1), make([]int, columns+1)
	for row := 1; row <= rows; row++ {
		least, used := make([]cost, columns+1), make([]bool, columns+1)
		reached := make([]bool, columns+1)
		at := 0
		for rowOf[0] = row; rowOf[at] != none; {
			used[at] = true
			from, next := rowOf[at], none
			var step cost
			for j := 1; j <= columns; j++ {
				if used[j] {
					continue
				}
				if c := of(from-1, j-1).minus(u[from]).minus(v[j]); !reached[j] || c.less(least[j]) {
					least[j], way[j], reached[j] = c, at, true
				}
				if next == none || least[j].less(step) {
					step, next = least[j], j
				}
			}
			for j := range used {
				if used[j] {
					u[rowOf[j]], v[j] = u[rowOf[j]].plus(step), v[j].minus(step)
				} else if reached[j] {
					least[j] = least[j].minus(step)
				}
			}
			at = next
		}
		for at != 0 {
			rowOf[at], at = rowOf[way[at]], way[at]
		}
	}
	columnOf := make([]int, rows)
	for j := 1; j <= columns; j++ {
		if rowOf[j] != none {
			columnOf[rowOf[j]-1] = j - 1
		}
	}
	return columnOf
}
