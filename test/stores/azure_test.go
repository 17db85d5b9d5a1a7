package stores

import (
	"encoding/base64"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// azureDouble is a container of Azure Blob Storage: Put Blob, Put Block, Put Block List, Get Blob,
// Delete Blob and List Blobs of the REST API.
type azureDouble struct {
	mutex  sync.Mutex
	blobs  map[string][]byte
	blocks map[string][]byte
	// fail answers in place of the store, if it returns a status.
	fail func(*http.Request) (status int, code string)
}

type azureBlob struct {
	Name       string
	Properties struct {
		Size int64  `xml:"Content-Length"`
		Type string `xml:"BlobType"`
		At   string `xml:"Last-Modified"`
	}
}

type azureList struct {
	XMLName  xml.Name    `xml:"EnumerationResults"`
	Prefixes []azureName `xml:"Blobs>BlobPrefix"`
	Blobs    []azureBlob `xml:"Blobs>Blob"`
}

type azureName struct{ Name string }

func (a *azureDouble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	refuse := func(status int, code string) {
		w.Header().Set("x-ms-error-code", code)
		w.WriteHeader(status)
	}
	if a.fail != nil {
		if status, code := a.fail(r); status != 0 {
			refuse(status, code)
			return
		}
	}
	_, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/devaccount/"), "/")
	query := r.URL.Query()
	switch {
	case query.Get("comp") == "list":
		w.Header().Set("Content-Type", "application/xml")
		_ = xml.NewEncoder(w).Encode(a.list(query.Get("prefix"), query.Get("delimiter")))
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		switch query.Get("comp") {
		case "block":
			a.blocks[name+" "+query.Get("blockid")] = body
		case "blocklist":
			var list struct{ Latest []string }
			_ = xml.Unmarshal(body, &list)
			a.blobs[name] = nil
			for _, id := range list.Latest {
				a.blobs[name] = append(a.blobs[name], a.blocks[name+" "+id]...)
			}
		default:
			a.blobs[name] = body
		}
		w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 16:00:00 GMT")
		w.WriteHeader(http.StatusCreated)
	case a.blobs[name] == nil:
		refuse(http.StatusNotFound, "BlobNotFound")
	case r.Method == http.MethodDelete:
		delete(a.blobs, name)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 16:00:00 GMT")
		w.Header().Set("Content-Length", strconv.Itoa(len(a.blobs[name])))
		_, _ = w.Write(a.blobs[name])
	}
}

func (a *azureDouble) list(prefix, delimiter string) (found azureList) {
	for _, name := range slices.Sorted(maps.Keys(a.blobs)) {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if folder, _, isFolder := strings.Cut(rest, delimiter); delimiter != "" && isFolder {
			if one := (azureName{prefix + folder + delimiter}); !slices.Contains(found.Prefixes, one) {
				found.Prefixes = append(found.Prefixes, one)
			}
			continue
		}
		blob := azureBlob{Name: name}
		blob.Properties.Size, blob.Properties.Type, blob.Properties.At = int64(len(a.blobs[name])), "BlockBlob", "Fri, 27 Nov 2026 16:00:00 GMT"
		found.Blobs = append(found.Blobs, blob)
	}
	return found
}

var azure = &azureDouble{}

const azureLocation = "azblob://records/team/a"

func (a *azureDouble) reset() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.blobs, a.blocks, a.fail = map[string][]byte{}, map[string][]byte{}, nil
}

// TestMain starts one double: the client reads the environment once in a process.
func TestMain(m *testing.M) {
	server := httptest.NewServer(azure)
	for name, value := range map[string]string{
		"AZURE_STORAGE_ACCOUNT":           "devaccount",
		"AZURE_STORAGE_KEY":               base64.StdEncoding.EncodeToString([]byte("key")),
		"AZURE_STORAGE_PROTOCOL":          "http",
		"AZURE_STORAGE_DOMAIN":            strings.TrimPrefix(server.URL, "http://"),
		"AZURE_STORAGE_IS_LOCAL_EMULATOR": "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	server.Close()
	os.Exit(code)
}
