// Package stores opens stores of records in object stores: Amazon S3 and compatible ones, Google
// Cloud Storage and Azure Blob Storage. Credentials are those of the environment of the process.
//
// Invariant: the manager does not import it. The clients of object stores need tens of MiB of
// memory, which `lintel record upload` uses in a process of its own.
package stores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"

	"gocloud.dev/blob"
	// The schemes azblob, gs and s3.
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"github.com/lintel-policy/lintel/policies/record"
)

var schemes = []string{"s3", "gs", "azblob"}

// Open opens the store at a URL: file:///folder, s3://bucket/folder, gs://bucket/folder or
// azblob://container/folder. The parameters are those of gocloud.dev/blob. It does not connect.
func Open(ctx context.Context, location string) (*record.Store, error) {
	parsed, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("the location of records is not a URL: %w", err)
	}
	if !slices.Contains(schemes, parsed.Scheme) {
		if parsed.Scheme == "file" {
			return record.Open(ctx, location)
		}
		return nil, fmt.Errorf("invalid location of records %q: scheme must be file, %s", location, strings.Join(schemes, ", "))
	}
	folder := strings.Trim(parsed.Path, "/")
	switch {
	case parsed.Host == "":
		return nil, fmt.Errorf("invalid location of records %q: must have the form %s://bucket/folder", location, parsed.Scheme)
	case parsed.User != nil:
		return nil, fmt.Errorf("invalid location of records %s://%s: must not have credentials; set them in the environment", parsed.Scheme, parsed.Host)
	case folder != "" && (path.Clean("/"+folder) != "/"+folder):
		return nil, fmt.Errorf("invalid location of records %q: the folder must not have empty segments, or segments of dots", location)
	}
	parsed.Path, parsed.RawPath = "", ""
	opened, err := blob.OpenBucket(ctx, parsed.String())
	if err != nil {
		return nil, fmt.Errorf("opening the store of records: %w", err)
	}
	if folder != "" {
		opened = blob.PrefixedBucket(opened, folder+"/")
	}
	return record.NewStore(bucket{opened}), nil
}

// IsURL reports whether a location is a URL and not the name of a file.
func IsURL(location string) bool { return strings.Contains(location, "://") }

// OpenNamed opens the store at a URL or in a folder.
func OpenNamed(ctx context.Context, name string) (*record.Store, error) {
	if IsURL(name) {
		return Open(ctx, name)
	}
	return record.OpenFolder(name)
}

// bucket is a record.Bucket.
type bucket struct{ *blob.Bucket }

func (b bucket) List(ctx context.Context, folder string) iter.Seq2[record.Object, error] {
	return func(yield func(record.Object, error) bool) {
		listing := b.Bucket.List(&blob.ListOptions{Prefix: folder, Delimiter: "/"})
		for {
			object, err := listing.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(record.Object{}, explain(err))
				return
			}
			if !yield(record.Object{Name: object.Key, Bytes: object.Size}, nil) {
				return
			}
		}
	}
}

func (b bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	reader, err := b.NewReader(ctx, name, nil)
	if err != nil {
		return nil, explain(err)
	}
	return reader, nil
}

func (b bucket) Write(ctx context.Context, name string, from io.Reader) error {
	// Concurrent parts would multiply the memory.
	return explain(b.Upload(ctx, name, from, &blob.WriterOptions{ContentType: "application/octet-stream", MaxConcurrency: 1}))
}

func (b bucket) Delete(ctx context.Context, name string) error {
	if err := b.Bucket.Delete(ctx, name); gcerrors.Code(err) != gcerrors.NotFound {
		return explain(err)
	}
	return nil
}

// explain adds the class of an error to its text.
func explain(err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case gcerrors.PermissionDenied:
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return err
}
