// Package functions provides the functions that Kyverno adds to CEL, as far as they are pure.
//
// Invariant: the result of a function depends on its arguments alone, and its cost grows with
// their size. Functions that read the cluster, a registry, the network, the clock or a source of
// random numbers are refused by name.
package functions

import (
	"reflect"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// Options declares the functions.
func Options() []celgo.EnvOption {
	options := []celgo.EnvOption{
		ext.NativeTypes(reflect.TypeFor[ServiceAccount]()),
		ext.NativeTypes(reflect.TypeFor[Exceptions](), ext.ParseStructTags(true)),
		celgo.Variable(ExceptionsVariable, types.NewObjectType("functions.Exceptions")),
	}
	// users is the last one: it extends the environment, which is complete then.
	for _, declare := range []func() []celgo.EnvOption{hashes, documents, imageParts, times, archives, lists, certificates, orValue, users} {
		options = append(options, declare()...)
	}
	return options
}

// ExceptionsVariable is the variable with the values that PolicyExceptions allow.
const ExceptionsVariable = "exceptions"

// Exceptions are the values that PolicyExceptions allow.
type Exceptions struct {
	AllowedImages []string `cel:"allowedImages"`
	AllowedValues []string `cel:"allowedValues"`
}

// unary declares a function of one argument under several names.
func unary(names []string, overload string, argument, result *types.Type, call func(ref.Val) ref.Val) (options []celgo.EnvOption) {
	for i, name := range names {
		options = append(options, celgo.Function(name, celgo.Overload(overload+suffixes[i], []*types.Type{argument}, result, celgo.UnaryBinding(call))))
	}
	return options
}

// suffixes tell the overloads of the names of a function apart.
var suffixes = []string{"", "_prefixed"}

// stringOf is the text of an argument.
func stringOf(value ref.Val) (string, ref.Val) {
	text, ok := value.(types.String)
	if !ok {
		return "", types.MaybeNoSuchOverloadErr(value)
	}
	return string(text), nil
}

// valueOf converts a value that consists of maps, lists and scalars.
func valueOf(value any) ref.Val { return types.DefaultTypeAdapter.NativeToValue(value) }

// orValue declares x.orValue(y) also for an x that is not an optional value: the result is x then,
// and its type is dyn.
func orValue() []celgo.EnvOption {
	const name = "@lintel_or_value"
	rewrite := func(factory celgo.MacroExprFactory, target celAST, args []celAST) (celAST, *celgo.Error) {
		return factory.NewCall(name, target, args[0]), nil
	}
	call := func(value, otherwise ref.Val) ref.Val {
		optional, ok := value.(*types.Optional)
		switch {
		case !ok:
			return value
		case optional.HasValue():
			return optional.GetValue()
		default:
			return otherwise
		}
	}
	return []celgo.EnvOption{
		celgo.Macros(celgo.ReceiverMacro("orValue", 1, rewrite)),
		celgo.Function(name, celgo.Overload("lintel_or_value_dyn_dyn", []*types.Type{types.DynType, types.DynType}, types.DynType, celgo.BinaryBinding(call))),
	}
}
