package serving

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// formerJavaArgs is the default that openvox-operator sets for javaArgs. It is treated as an
// empty field.
const formerJavaArgs = "-Xms512m -Xmx1024m"

// heapOption is one by which a JVM has the size of its heap.
var heapOption = regexp.MustCompile(`(?:^|\s)(?:-Xmx|-XX:MaxHeapSize=|-XX:MaxRAMPercentage=)`)

// javaOptions are those of a server: 90 % of the limit are its heap.
func javaOptions(spec v1alpha1.ServerSpec) string {
	return withHeap(spec.JavaArgs, spec.Resources, 9, formerJavaArgs)
}

// withHeap are javaArgs, and the size of the heap where they have none: tenths of the memory
// limit, or unlimited without one.
func withHeap(javaArgs string, resources corev1.ResourceRequirements, tenths int64, unlimited string) string {
	args := strings.TrimSpace(javaArgs)
	if args == formerJavaArgs {
		args = ""
	}
	if heapOption.MatchString(args) {
		return args
	}
	heap := unlimited
	if limit, ok := resources.Limits[corev1.ResourceMemory]; ok && !limit.IsZero() {
		mebibytes := limit.Value() / 10 * tenths >> 20
		heap = fmt.Sprintf("-Xms%dm -Xmx%[1]dm", mebibytes)
	}
	return strings.TrimSpace(heap + " " + args)
}
