module github.com/lintel-policy/lintel

go 1.26.0
