// Package openzro has the management server of openZro hold what its objects say.
package openzro
