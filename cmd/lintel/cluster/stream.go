package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/lintel-policy/lintel/policies/admission"
)

const (
	// pageSize is the number of objects that are asked for at a time.
	pageSize = 500
	// maxLists bounds how often a list begins again because it has expired.
	maxLists = 3
	// readAhead is how much of a page is read before the first object is visited: the API server
	// ends responses that are read slowly.
	readAhead = 16 << 20
)

// newLister returns a client for lists. It waits as long as the API server asks for by
// Retry-After, and its requests end with their context alone.
func newLister(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0
	config.WarningHandlerWithContext = rest.NoWarnings{} // about versions that policies name, not the user
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}

// Stream visits the objects of a resource in JSON, in its version, page by page. No more than a
// part of a page is in memory. If the list expires, it continues where it ended, or calls again
// and begins again.
func (c *Cluster) Stream(ctx context.Context, resource admission.ServedResource, again func(), visit func(object []byte) error) error {
	token := ""
	for lists := 1; ; {
		next, err := c.page(ctx, resource, token, visit)
		status, isStatus := errors.AsType[*apierrors.StatusError](err)
		switch {
		case err == nil && next == "":
			return nil
		case err == nil && next == token:
			return errors.New("reading a page: the list does not continue")
		case err == nil:
			token = next
		case token != "" && isStatus && apierrors.IsResourceExpired(err) && lists < maxLists:
			lists++
			if token = status.ErrStatus.Continue; token == "" {
				again()
			}
		default:
			return err
		}
	}
}

// page visits a page, and returns the token of the next one.
func (c *Cluster) page(ctx context.Context, resource admission.ServedResource, token string, visit func([]byte) error) (string, error) {
	version := schema.GroupVersion{Group: resource.Group, Version: resource.Version}
	path := []string{"/apis", version.Group, version.Version, resource.Name}
	if version.Group == "" {
		path = []string{"/api", version.Version, resource.Name}
	}
	request := c.lister.Get().AbsPath(path...).Param("limit", strconv.Itoa(pageSize))
	if token != "" {
		request = request.Param("continue", token)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return "", err
	}
	defer body.Close()
	ahead, err := io.ReadAll(io.LimitReader(body, readAhead))
	if err != nil {
		return "", fmt.Errorf("reading a page: %w", err)
	}
	return readPage(io.MultiReader(bytes.NewReader(ahead), body), version.WithKind(resource.Kind), visit)
}

// readPage visits the items of a list. Items of built-in kinds have no kind of their own.
func readPage(body io.Reader, kind schema.GroupVersionKind, visit func([]byte) error) (next string, err error) {
	decoder := jsontext.NewDecoder(body)
	if start, err := decoder.ReadToken(); err != nil || start.Kind() != '{' {
		return "", unreadablePage(err)
	}
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return "", unreadablePage(err)
		}
		name := token.String()
		if name == "items" && decoder.PeekKind() == '[' {
			if err := readItems(decoder, kind, visit); err != nil {
				return "", err
			}
			continue
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return "", unreadablePage(err)
		}
		if name == "metadata" {
			var metadata struct {
				Continue string `json:"continue"`
			}
			if err := json.Unmarshal(value, &metadata); err != nil {
				return "", unreadablePage(err)
			}
			next = metadata.Continue
		}
	}
	_, err = decoder.ReadToken()
	if err != nil {
		return "", unreadablePage(err)
	}
	return next, nil
}

func unreadablePage(err error) error {
	if err == nil {
		return errors.New("reading a page: the answer is not a JSON object")
	}
	return fmt.Errorf("reading a page: %w", err)
}

func readItems(decoder *jsontext.Decoder, kind schema.GroupVersionKind, visit func([]byte) error) error {
	if _, err := decoder.ReadToken(); err != nil {
		return unreadablePage(err)
	}
	for decoder.PeekKind() != ']' {
		item, err := decoder.ReadValue()
		if err != nil {
			return unreadablePage(err)
		}
		object, err := withKind(item, kind)
		if err != nil {
			return unreadablePage(err)
		}
		if err := visit(object); err != nil {
			return err
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return unreadablePage(err)
	}
	return nil
}

// withKind adds the kind to an object that has none.
func withKind(object []byte, kind schema.GroupVersionKind) ([]byte, error) {
	var own struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(object, &own); err != nil {
		return nil, err
	}
	if own.Kind != "" || own.APIVersion != "" {
		return bytes.Clone(object), nil
	}
	start := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, kind.GroupVersion(), kind.Kind)
	rest := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(object), []byte("{")))
	if len(rest) > 1 {
		start += ","
	}
	return append([]byte(start), rest...), nil
}
