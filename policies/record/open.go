package record

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
)

// Open opens the store at a URL: file:///folder.
func Open(_ context.Context, location string) (*Store, error) {
	parsed, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("the location of records is not a URL: %w", err)
	}
	switch parsed.Scheme {
	case "file":
		if parsed.Host != "" || !filepath.IsAbs(parsed.Path) || parsed.RawQuery != "" {
			return nil, fmt.Errorf("invalid location of records %q: must have the form file:///folder", location)
		}
		return OpenFolder(filepath.FromSlash(parsed.Path))
	}
	return nil, fmt.Errorf("invalid location of records %q: scheme must be file; for an object store, record in a folder with --record-spool and run lintel record upload", location)
}
