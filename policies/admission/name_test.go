package admission

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDisplayName(t *testing.T) {
	for _, c := range []struct {
		what, operation, name, object, oldObject, want string
	}{
		{"a name", "CREATE", "web", `{"metadata":{"name":"web"}}`, "null", "web"},
		{"a name that is not made yet", "CREATE", "", `{"metadata":{"generateName":"web-"}}`, "null", "web-"},
		{"a name that the API server has made", "CREATE", "", `{"metadata":{"name":"web-x7k2p","generateName":"web-"}}`, "null", "web-x7k2p"},
		{"a prefix that hides a name", "CREATE", "ok-evil1", `{"metadata":{"name":"ok-evil1","generateName":"ok-"}}`, "null", "ok-evil1"},
		{"a name beside a prefix", "CREATE", "shop", `{"metadata":{"name":"shop","generateName":"web-"}}`, "null", "shop"},
		{"a made name, later", "UPDATE", "web-x7k2p", `{"metadata":{"name":"web-x7k2p","generateName":"web-"}}`, "null", "web-x7k2p"},
		{"a connection", "CONNECT", "web", "null", "null", "web"},
		{"one of a collection", "DELETE", "", "null", `{"metadata":{"name":"web","generateName":"w"}}`, "web"},
		{"nothing", "DELETE", "", "null", "null", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			review, err := DecodeReview([]byte(admissionReview(fmt.Sprintf(
				`"uid":"u","operation":%q,"name":%q,"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"object":%s,"oldObject":%s`,
				c.operation, c.name, c.object, c.oldObject))))
			require.NoError(t, err)
			require.Equal(t, c.want, review.DisplayName())
		})
	}
}
