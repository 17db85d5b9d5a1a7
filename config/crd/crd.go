// Package crd holds the CustomResourceDefinitions of Lintel's own kinds.
package crd

import "embed"

// Files are the definitions in YAML, one a file, named <group>_<plural>.yaml.
//
//go:embed *_*.yaml
var Files embed.FS
