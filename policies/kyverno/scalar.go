package kyverno

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

func sortedKeys(of map[string]any) []string { return slices.Sorted(maps.Keys(of)) }

var ranges = regexp.MustCompile(`^([-|\+]?\d+(?:\.\d+)?[A-Za-z]*)(!?-)([-|\+]?\d+(?:\.\d+)?[A-Za-z]*)$`)

// acceptsMissing reports whether a scalar of a pattern matches a missing field: Kyverno compares
// a missing field as 0 with durations and quantities.
func acceptsMissing(pattern any) bool {
	text, ok := pattern.(string)
	if !ok {
		return pattern == nil
	}
	for _, alternative := range strings.Split(text, "|") {
		met := true
		for _, condition := range strings.Split(alternative, "&") {
			met = met && mayAcceptMissing(strings.Trim(condition, " "))
		}
		if met {
			return true
		}
	}
	return false
}

// mayAcceptMissing reports whether a condition compares with a number, which 0 might meet.
func mayAcceptMissing(condition string) bool {
	if bounds := ranges.FindStringSubmatch(condition); bounds != nil {
		return isMeasure(bounds[1]) && isMeasure(bounds[3])
	}
	return isMeasure(strings.TrimSpace(strings.TrimLeft(condition, "<>=!")))
}

func isMeasure(text string) bool {
	if _, err := time.ParseDuration(text); err == nil {
		return true
	}
	_, err := resource.ParseQuantity(text)
	return err == nil
}
