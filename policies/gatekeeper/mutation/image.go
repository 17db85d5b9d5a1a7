package mutation

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// imageParts replaces the parts of an image reference that are not empty. The tag begins with :
// or, if it is a digest, with @.
type imageParts struct{ domain, path, tag string }

// The parts that Gatekeeper accepts.
var (
	imageDomain = regexp.MustCompile(`^(?:\w[\w-]*\.[\w.-]*\w|localhost)(?::\d+)?$`)
	imagePath   = regexp.MustCompile(`^[a-z0-9]+(?:(?:[._/]|__|-*)[a-z0-9]+)*$`)
	imageTag    = regexp.MustCompile(`^(?::\w[\w.-]{0,127}|@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,})$`)
)

// check returns an error for parts that an image reference cannot have, and for those that would
// be read as another part the next time.
func (p imageParts) check() *FieldError {
	fail := func(field, format string, args ...any) *FieldError {
		return newFieldError(fmt.Errorf(format, args...), "spec", "parameters", field)
	}
	switch {
	case p == imageParts{}:
		return newFieldError(errors.New("set at least one of assignDomain, assignPath, assignTag"), "spec", "parameters")
	case p.domain != "" && !imageDomain.MatchString(p.domain):
		return fail("assignDomain", "%q is not a domain such as registry.example.com:5000", p.domain)
	case p.path != "" && !imagePath.MatchString(p.path):
		return fail("assignPath", "%q is not a path such as library/nginx", p.path)
	case p.tag != "" && !imageTag.MatchString(p.tag):
		return fail("assignTag", "%q is not a tag such as :v1, or a digest such as @sha256:<hex>", p.tag)
	}
	if read := parseImage(p.path); p.domain == "" && read.domain != "" {
		return fail("assignPath", "%q begins with a domain; set assignDomain: %s and assignPath: %s", p.path, read.domain, read.path)
	}
	return nil
}

func (p imageParts) set(fields map[string]any, name string, _ map[string]any) error {
	text := ""
	if value, exists := fields[name]; exists {
		var isText bool
		if text, isText = value.(string); !isText {
			return fmt.Errorf("%s is %s, not a string", name, typeName(value))
		}
	}
	image := parseImage(text)
	for _, part := range []struct {
		to   *string
		from string
	}{{&image.domain, p.domain}, {&image.path, p.path}, {&image.tag, p.tag}} {
		if part.from != "" {
			*part.to = part.from
		}
	}
	fields[name] = image.String()
	return nil
}

// parseImage divides an image reference. Its first component is a domain if it has a . or :, or is
// localhost.
func parseImage(text string) (image imageParts) {
	rest := text
	if first, after, found := strings.Cut(text, "/"); found && (strings.ContainsAny(first, ".:") || first == "localhost") {
		image.domain, rest = first, after
	}
	at := strings.IndexAny(rest, ":@")
	if at < 0 {
		at = len(rest)
	}
	image.path, image.tag = rest[:at], rest[at:]
	return image
}

// String is the image reference.
func (p imageParts) String() string {
	if p.domain == "" {
		return p.path + p.tag
	}
	return p.domain + "/" + p.path + p.tag
}
