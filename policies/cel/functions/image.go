package functions

import (
	"fmt"
	"reflect"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/go-containerregistry/pkg/name"
)

// imageType is the type of references to images.
var imageType = types.NewOpaqueType("kyverno.image")

// image is a reference to an image, with the defaults of Docker Hub.
type image struct{ name.Reference }

// ConvertToNative implements ref.Val.
func (i image) ConvertToNative(to reflect.Type) (any, error) {
	if to.Kind() == reflect.String {
		return i.String(), nil
	}
	return nil, fmt.Errorf("a reference to an image cannot be converted to %v", to)
}

// ConvertToType implements ref.Val.
func (i image) ConvertToType(to ref.Type) ref.Val {
	if to == imageType {
		return i
	}
	return types.NewErr("a reference to an image cannot be converted to %s", to.TypeName())
}

// Equal implements ref.Val.
func (i image) Equal(other ref.Val) ref.Val {
	reference, ok := other.(image)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(reflect.DeepEqual(i.Reference, reference.Reference))
}

// Type implements ref.Val.
func (i image) Type() ref.Type { return imageType }

// Value implements ref.Val.
func (i image) Value() any { return i.Reference }

// digest is empty without a digest.
func (i image) digest() string {
	if pinned, ok := i.Reference.(name.Digest); ok {
		return pinned.DigestStr()
	}
	return ""
}

// tag is empty if the reference has a digest alone.
func (i image) tag() string {
	if tagged, ok := i.Reference.(name.Tag); ok {
		return tagged.TagStr()
	}
	named, _, _ := strings.Cut(i.String(), "@")
	if colon := strings.LastIndex(named, ":"); colon > strings.LastIndex(named, "/") {
		return named[colon+1:]
	}
	return ""
}

// identifier is the tag, the digest, or both as tag@digest.
func (i image) identifier() string {
	if tag, digest := i.tag(), i.digest(); tag != "" && digest != "" {
		return tag + "@" + digest
	}
	return i.Identifier()
}

// separated is the digest or the tag with its separator.
func (i image) separated() string {
	if digest := i.digest(); digest != "" {
		return "@" + digest
	}
	return ":" + i.Identifier()
}

// imageParts declares the functions about references to images.
func imageParts() []celgo.EnvOption {
	parse := func(arg ref.Val) ref.Val {
		text, wrong := stringOf(arg)
		if wrong != nil {
			return wrong
		}
		reference, err := name.ParseReference(text)
		if err != nil {
			return types.WrapErr(err)
		}
		return image{reference}
	}
	options := unary([]string{"image"}, "image_string", types.StringType, imageType, parse)
	options = append(options, unary([]string{"parseImageReference"}, "parse_image_reference_string", types.StringType, imageType, parse)...)
	options = append(options, unary([]string{"isImage"}, "is_image_string", types.StringType, types.BoolType, func(arg ref.Val) ref.Val {
		return types.Bool(!types.IsError(parse(arg)))
	})...)
	member := func(name string, result *types.Type, of func(image) ref.Val) {
		options = append(options, celgo.Function(name, celgo.MemberOverload("image_"+name, []*types.Type{imageType}, result, celgo.UnaryBinding(func(arg ref.Val) ref.Val {
			reference, ok := arg.(image)
			if !ok {
				return types.MaybeNoSuchOverloadErr(arg)
			}
			return of(reference)
		}))))
	}
	text := func(name string, of func(image) string) {
		member(name, types.StringType, func(i image) ref.Val { return types.String(of(i)) })
	}
	member("containsDigest", types.BoolType, func(i image) ref.Val { return types.Bool(i.digest() != "") })
	text("registry", func(i image) string { return i.Context().RegistryStr() })
	text("repository", func(i image) string { return i.Context().RepositoryStr() })
	text("identifier", image.identifier)
	text("identifierWithSeparator", image.separated)
	text("tag", image.tag)
	text("digest", image.digest)
	return options
}
