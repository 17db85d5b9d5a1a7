module github.com/lintel-policy/lintel

go 1.26.0

require (
	github.com/agnivade/levenshtein v1.2.1
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/spf13/pflag v1.0.10 // indirect
