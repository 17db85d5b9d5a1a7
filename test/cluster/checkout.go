package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const modulePath = "github.com/lintel-policy/lintel/test/cluster"

// moduleFolder is the folder of this Go module in the checkout around the
// working directory.
func moduleFolder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	return findModule(dir)
}

// findModule returns the folder of this Go module, looking upward from dir, so
// that the program works from anywhere in a checkout.
func findModule(dir string) (string, error) {
	start := dir
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "test", "cluster")} {
			if isModule(candidate) {
				return candidate, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no test/cluster module in or above %s; run this inside a checkout of the repository", start)
		}
		dir = parent
	}
}

func isModule(dir string) bool {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(first) == "module "+modulePath
}

// defaultStateDir is the development cluster of the checkout that root is in.
func defaultStateDir(root string) string {
	return filepath.Join(root, "..", "..", ".cluster", "dev")
}
