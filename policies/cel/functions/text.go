package functions

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	celgo "github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"sigs.k8s.io/yaml"
)

type celAST = celast.Expr

// hashes declares sha1, sha256 and md5, also with the prefix hash.
func hashes() (options []celgo.EnvOption) {
	for name, sum := range map[string]func(text []byte) []byte{
		"sha1":   func(text []byte) []byte { sum := sha1.Sum(text); return sum[:] },
		"sha256": func(text []byte) []byte { sum := sha256.Sum256(text); return sum[:] },
		"md5":    func(text []byte) []byte { sum := md5.Sum(text); return sum[:] },
	} {
		options = append(options, unary([]string{name, "hash." + name}, name+"_string", types.StringType, types.StringType, func(arg ref.Val) ref.Val {
			text, err := stringOf(arg)
			if err != nil {
				return err
			}
			return types.String(hex.EncodeToString(sum([]byte(text))))
		})...)
	}
	return options
}

// documents declares json.unmarshal, json.marshal and yaml.parse. Numbers that they read are
// doubles.
func documents() []celgo.EnvOption {
	read := func(parse func(text []byte, into any) error) func(ref.Val) ref.Val {
		return func(arg ref.Val) ref.Val {
			text, wrong := stringOf(arg)
			if wrong != nil {
				return wrong
			}
			var value any
			if err := parse([]byte(text), &value); err != nil {
				return types.WrapErr(err)
			}
			return valueOf(value)
		}
	}
	options := unary([]string{"json.unmarshal"}, "json_unmarshal_dyn", types.DynType, types.DynType, read(json.Unmarshal))
	options = append(options, unary([]string{"yaml.parse"}, "yaml_parse_string", types.StringType, types.DynType,
		read(func(text []byte, into any) error { return yaml.Unmarshal(text, into) }))...)
	return append(options, unary([]string{"json.marshal"}, "json_marshal_dyn", types.DynType, types.StringType, func(arg ref.Val) ref.Val {
		native, err := jsonOf(arg)
		if err != nil {
			return types.WrapErr(err)
		}
		text, err := json.Marshal(native)
		if err != nil {
			return types.WrapErr(err)
		}
		return types.String(text)
	})...)
}

// jsonOf converts a value for encoding/json.
func jsonOf(value ref.Val) (any, error) {
	switch value := value.(type) {
	case types.Null:
		return nil, nil
	case traits.Mapper:
		out := map[string]any{}
		for i := value.Iterator(); i.HasNext() == types.True; {
			key := i.Next()
			name, ok := key.(types.String)
			if !ok {
				return nil, fmt.Errorf("a key of type %s is not a key of JSON", key.Type().TypeName())
			}
			field, err := jsonOf(value.Get(key))
			if err != nil {
				return nil, err
			}
			out[string(name)] = field
		}
		return out, nil
	case traits.Lister:
		out := []any{}
		for i := value.Iterator(); i.HasNext() == types.True; {
			element, err := jsonOf(i.Next())
			if err != nil {
				return nil, err
			}
			out = append(out, element)
		}
		return out, nil
	default:
		return value.Value(), nil
	}
}

// lists declares listObjToMap, also with the prefix transform: it takes keys from the objects of
// one list and values from those of another.
func lists() (options []celgo.EnvOption) {
	call := func(args ...ref.Val) ref.Val {
		keys, isList := args[0].(traits.Lister)
		values, isListToo := args[1].(traits.Lister)
		if !isList || !isListToo {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		if keys.Size().Equal(values.Size()) != types.True {
			return types.NewErr("listObjToMap: the lists have %v and %v elements", keys.Size().Value(), values.Size().Value())
		}
		out := map[ref.Val]ref.Val{}
		for k, v := keys.Iterator(), values.Iterator(); k.HasNext() == types.True; {
			of, isMap := k.Next().(traits.Mapper)
			value, isMapToo := v.Next().(traits.Mapper)
			if !isMap || !isMapToo {
				return types.NewErr("listObjToMap: an element is not an object")
			}
			key, _ := of.Find(args[2])
			if _, isText := key.(types.String); !isText {
				return types.NewErr("listObjToMap: a key is not a string")
			}
			found, _ := value.Find(args[3])
			if found == nil {
				found = types.NullValue
			}
			out[key] = found
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, out)
	}
	arguments := []*types.Type{types.ListType, types.ListType, types.StringType, types.StringType}
	for i, name := range []string{"listObjToMap", "transform.listObjToMap"} {
		options = append(options, celgo.Function(name, celgo.Overload("list_obj_to_map"+suffixes[i], arguments, types.MapType, celgo.FunctionBinding(call))))
	}
	return options
}
