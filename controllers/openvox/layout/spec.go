package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// units are those of a Duration, in seconds.
var units = map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'y': 365 * 86400}

// Duration is how long a field says, such as 90d: fallback where it is empty. Whole seconds
// without a unit, or with s, m, h, d or y, which is 365 days; else it is an error.
func Duration(text v1alpha1.Duration, fallback time.Duration) (time.Duration, error) {
	if text == "" {
		return fallback, nil
	}
	number, unit := string(text), int64(1)
	if seconds, ok := units[number[len(number)-1]]; ok {
		number, unit = number[:len(number)-1], seconds
	}
	value, err := strconv.ParseInt(number, 10, 64)
	if err != nil || value < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 90d", text)
	}
	const longest = int64(1<<63-1) / int64(time.Second)
	if value > longest/unit {
		return 0, fmt.Errorf("%q is longer than can be counted", text)
	}
	return time.Duration(value*unit) * time.Second, nil
}

// ImageName is an image with its tag: a repository with a digest needs none.
func ImageName(repository, tag string) string {
	if strings.Contains(repository, "@") || tag == "" {
		return repository
	}
	return repository + ":" + tag
}

// KindOf is the beginning of an object that is applied, which names its kind.
func KindOf(gv schema.GroupVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: gv.String(), Kind: kind}
}
