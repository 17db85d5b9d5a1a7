//go:build !race

package scope

const underRace = false
