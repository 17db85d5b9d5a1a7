package functions

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// ServiceAccount is the name of a service account in a user name; empty for other users.
type ServiceAccount struct {
	Name      string
	Namespace string
}

// serviceAccountPrefix begins the user names of service accounts.
const serviceAccountPrefix = "system:serviceaccount:"

// users declares parseServiceAccount, also with the prefix user.
func users() []celgo.EnvOption {
	return []celgo.EnvOption{func(env *celgo.Env) (*celgo.Env, error) {
		adapter := env.CELTypeAdapter()
		return env.Extend(unary([]string{"parseServiceAccount", "user.parseServiceAccount"}, "parse_service_account", types.StringType,
			types.NewObjectType("functions.ServiceAccount"), func(arg ref.Val) ref.Val {
				user, wrong := stringOf(arg)
				if wrong != nil {
					return wrong
				}
				account := ServiceAccount{}
				if rest, found := strings.CutPrefix(user, serviceAccountPrefix); found {
					if namespace, name, complete := strings.Cut(rest, ":"); complete {
						account = ServiceAccount{Name: name, Namespace: namespace}
					}
				}
				return adapter.NativeToValue(account)
			})...)
	}}
}

// times declares the functions about timestamps, and math.round with a number of digits.
func times() []celgo.EnvOption {
	cron := func(arg ref.Val) ref.Val {
		at, ok := arg.(types.Timestamp)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return types.String(fmt.Sprintf("%d %d %d %d %d", at.Minute(), at.Hour(), at.Day(), int(at.Month()), int(at.Weekday())))
	}
	truncate := func(arg, unit ref.Val) ref.Val {
		at, isTime := arg.(types.Timestamp)
		duration, isDuration := unit.(types.Duration)
		if !isTime || !isDuration {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		return types.Timestamp{Time: at.Truncate(duration.Duration)}
	}
	round := func(arg, digits ref.Val) ref.Val {
		number, isNumber := arg.(types.Double)
		count, isCount := digits.(types.Int)
		if !isNumber || !isCount {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		shift := math.Pow(10, float64(count))
		return types.Double(math.Round(float64(number)*shift) / shift)
	}
	return append(unary([]string{"time.toCron"}, "time_to_cron", types.TimestampType, types.StringType, cron),
		celgo.Function("time.truncate", celgo.Overload("time_truncate", []*types.Type{types.TimestampType, types.DurationType}, types.TimestampType, celgo.BinaryBinding(truncate))),
		celgo.Function("math.round", celgo.Overload("math_round_double_int", []*types.Type{types.DoubleType, types.IntType}, types.DoubleType, celgo.BinaryBinding(round))))
}

// maxDecompressedBytes bounds the result of gzip.decompress: it is as large as a request may be.
const maxDecompressedBytes = 3 << 20

// archives declares gzip.compress and gzip.decompress.
func archives() []celgo.EnvOption {
	compress := func(arg ref.Val) ref.Val {
		text, wrong := stringOf(arg)
		if wrong != nil {
			return wrong
		}
		var out bytes.Buffer
		writer := gzip.NewWriter(&out)
		writer.ModTime = time.Unix(0, 0)
		if _, err := writer.Write([]byte(text)); err != nil {
			return types.WrapErr(err)
		}
		if err := writer.Close(); err != nil {
			return types.WrapErr(err)
		}
		return types.Bytes(out.Bytes())
	}
	decompress := func(arg ref.Val) ref.Val {
		data, ok := arg.(types.Bytes)
		if !ok {
			return types.MaybeNoSuchOverloadErr(arg)
		}
		reader, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return types.WrapErr(err)
		}
		text, err := io.ReadAll(io.LimitReader(reader, maxDecompressedBytes+1))
		if err != nil {
			return types.WrapErr(err)
		}
		if len(text) > maxDecompressedBytes {
			return types.NewErr("gzip.decompress: the text is longer than %d bytes", maxDecompressedBytes)
		}
		return types.String(text)
	}
	return append(unary([]string{"gzip.compress"}, "gzip_compress_dyn", types.DynType, types.BytesType, compress),
		unary([]string{"gzip.decompress"}, "gzip_decompress_bytes", types.BytesType, types.StringType, decompress)...)
}
