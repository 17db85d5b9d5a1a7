package policyset

import (
	"maps"
	"slices"
)

// connections are, for each unit, the units on which it depends: those at, above or below its
// references, and those of its own packages. If one package is above another, they depend on
// each other, because their rules may conflict.
func connections(units []*UnitFacts) [][]int {
	at, below := map[string][]int{}, map[string][]int{} // by path: the units there, and there or below
	for i, u := range units {
		for _, path := range u.Packages {
			at[pathKey(path)] = append(at[pathKey(path)], i)
			for n := range len(path) + 1 {
				below[pathKey(path[:n])] = append(below[pathKey(path[:n])], i)
			}
		}
	}
	edges := make([][]int, len(units))
	for i, u := range units {
		found := map[int]bool{}
		for _, path := range slices.Concat(u.Packages, u.Refers) {
			connected := below[pathKey(path)]
			for n := range path {
				connected = slices.Concat(connected, at[pathKey(path[:n])])
			}
			for _, other := range connected {
				found[other] = true
			}
		}
		delete(found, i)
		edges[i] = slices.Collect(maps.Keys(found))
	}
	return edges
}

// reachable says which nodes can be reached from some, themselves included.
func reachable(edges [][]int, from []int) []bool {
	reached := make([]bool, len(edges))
	for len(from) > 0 {
		node := from[len(from)-1]
		from = from[:len(from)-1]
		if !reached[node] {
			reached[node] = true
			from = append(from, edges[node]...)
		}
	}
	return reached
}

func reversed(edges [][]int) [][]int {
	out := make([][]int, len(edges))
	for from, all := range edges {
		for _, to := range all {
			out[to] = append(out[to], from)
		}
	}
	return out
}
