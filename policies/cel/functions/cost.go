package functions

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/library"
)

// Costs estimates the cost of calls, as the API server does for its own functions.
type Costs struct{ library.CostEstimator }

// perByte is the cost of a function for each byte of its text, in units of CEL.
var perByte = map[string]uint64{
	"sha1": 1, "hash.sha1": 1, "sha256": 1, "hash.sha256": 1, "md5": 1, "hash.md5": 1,
	"json.unmarshal": 1, "json.marshal": 1, "yaml.parse": 10, "x509.decode": 10, "gzip.compress": 2, "gzip.decompress": 1,
	"image": 1, "parseImageReference": 1, "isImage": 1, "parseServiceAccount": 1, "user.parseServiceAccount": 1,
}

// CallCost implements interpreter.ActualCostEstimator.
func (c *Costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if factor := perByte[function]; factor > 0 {
		cost := 1 + factor*max(sizeOf(args[0]), sizeOf(result))
		return &cost
	}
	switch function {
	case "listObjToMap", "transform.listObjToMap":
		cost := 1 + sizeOf(args[0]) + sizeOf(args[1])
		return &cost
	}
	return c.CostEstimator.CallCost(function, overload, args, result)
}

// sizeOf is the number of bytes of a text, or of elements.
func sizeOf(value ref.Val) uint64 {
	sized, ok := value.(traits.Sizer)
	if !ok {
		return 0
	}
	if size, ok := sized.Size().(types.Int); ok && size > 0 {
		return uint64(size)
	}
	return 0
}
