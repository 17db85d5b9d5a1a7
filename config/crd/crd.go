// Package crd holds the CustomResourceDefinitions of Lintel's own kinds.
package crd

import "embed"

// Files are the definitions in YAML, one a file, named <part>/<group>_<plural>.yaml,
// where a part is policy, or a system.
//
//go:embed */*_*.yaml
var Files embed.FS
