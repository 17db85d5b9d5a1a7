package zopp

import "k8s.io/apimachinery/pkg/types"

// user is an object that uses environments.
type user struct {
	kind string
	types.NamespacedName
}
