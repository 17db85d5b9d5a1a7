//go:build race

package scope

const underRace = true
