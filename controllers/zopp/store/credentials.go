package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Credentials returns the principal that signs requests. It is called for each request, so that
// a changed principal is used immediately.
type Credentials interface {
	// Principal returns the current principal. Its error is an *Error of ReasonInvalidCredentials.
	Principal() (*Principal, error)
}

// FindCredentials returns the credentials from the environment variables if ZOPP_PRINCIPAL_ID is
// set. Otherwise it returns those of a file: the named one, or the first that exists of
// ~/.zopp/credentials.json and ~/.zopp/config.json. The file is read again for each request, and
// need not exist yet. An error is always an *Error of ReasonInvalidCredentials about the
// environment variables.
func FindCredentials(file string, lookup func(name string) (string, bool)) (Credentials, error) {
	if _, there := lookup("ZOPP_PRINCIPAL_ID"); there {
		return variables(lookup)
	}
	if file != "" {
		return files{file}, nil
	}
	home, _ := lookup("HOME")
	folder := filepath.Join(home, ".zopp")
	return files{filepath.Join(folder, "credentials.json"), filepath.Join(folder, "config.json")}, nil
}

// fixed are credentials that never change.
type fixed struct{ principal *Principal }

func (f fixed) Principal() (*Principal, error) { return f.principal, nil }

// variables reads the credentials from environment variables. All of them are required.
func variables(lookup func(string) (string, bool)) (Credentials, error) {
	var missing []string
	read := func(name string) field {
		value, _ := lookup(name)
		if value == "" {
			missing = append(missing, name)
		}
		return field{name: name, value: value}
	}
	written := entry{
		id:         read("ZOPP_PRINCIPAL_ID"),
		name:       read("ZOPP_PRINCIPAL_NAME"),
		private:    read("ZOPP_PRIVATE_KEY"),
		public:     read("ZOPP_PUBLIC_KEY"),
		unwrapping: read("ZOPP_X25519_PRIVATE_KEY"),
		wrapping:   read("ZOPP_X25519_PUBLIC_KEY"),
	}
	if len(missing) > 0 {
		return nil, invalid(fmt.Errorf("ZOPP_PRINCIPAL_ID is set, but these variables are missing: %s; set all six variables of a principal, or unset ZOPP_PRINCIPAL_ID to use a file",
			strings.Join(missing, ", ")))
	}
	principal, err := written.principal()
	if err != nil {
		return nil, invalid(fmt.Errorf("the environment: %w", err))
	}
	return fixed{principal}, nil
}

// files are the paths of a file, of which the first existing one is used.
type files []string

func (f files) Principal() (*Principal, error) {
	for _, path := range f {
		text, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, invalid(fmt.Errorf("reading the file: %w", err))
		}
		principal, err := parse(text)
		clear(text)
		if err != nil {
			return nil, invalid(fmt.Errorf("%s: %w", path, err))
		}
		return principal, nil
	}
	return nil, invalid(fmt.Errorf("there is no file %s, and ZOPP_PRINCIPAL_ID is not set; name the file of a service principal with --zopp-credentials, or set its six variables",
		strings.Join(f, " or ")))
}

// maxFileBytes is far more than any file of principals has.
const maxFileBytes = 1 << 20

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFileBytes)
	}
	return text, err
}

func invalid(cause error) *Error {
	return &Error{Reason: ReasonInvalidCredentials, Message: "zopp's credentials: " + cause.Error(), Cause: cause}
}
