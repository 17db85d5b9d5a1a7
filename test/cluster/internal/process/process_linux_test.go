package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStatSurvivesCommandNames(t *testing.T) {
	for name, test := range map[string]struct{ stat, started string }{
		"plain":       {"7 (etcd) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 8 0 4242 1 1", "4242"},
		"parentheses": {"7 (a) Z (b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 8 0 4242 1 1", "4242"},
		"zombie":      {"7 (etcd) Z 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 8 0 4242 1 1", ""},
		"short":       {"7 (etcd) S 1 7", ""},
		"empty":       {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			started, err := parseStat(test.stat)
			require.Equal(t, test.started, started)
			require.Equal(t, test.started == "", err != nil)
		})
	}
}
