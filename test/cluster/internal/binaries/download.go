package binaries

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed" // the pinned releases
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// pinned are the releases that this program downloads. Their checksums are those that
// the projects publish, as kops and kubespray repeat them.
//
//go:embed releases.json
var pinned []byte

// release is where a program can be downloaded from. In URL and Member, {os}, {arch} and
// {platform} stand for those of this machine.
type release struct {
	Version string `json:"version"`
	URL     string `json:"url"`
	// Member is the path of the program in the gzipped tar file; empty where the
	// download is the program.
	Member string `json:"member,omitempty"`
	// SHA256 is that of the download, by platform.
	SHA256 map[string]string `json:"sha256"`
}

// Limits of a download. A network that lets nothing through is noticed in seconds.
const (
	connectLimit  = 3 * time.Second
	responseLimit = 5 * time.Second
	stallLimit    = 10 * time.Second
)

// errUnreachable says that a host did not answer an earlier request.
var errUnreachable = errors.New("it did not answer before")

// downloader downloads pinned releases.
type downloader struct {
	client *http.Client
	mirror string
	stall  time.Duration
	// unreachable are hosts that did not answer.
	unreachable map[string]bool
}

func newDownloader(mirror string) *downloader {
	return &downloader{
		mirror: mirror, stall: stallLimit, unreachable: map[string]bool{},
		client: &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connectLimit}).DialContext,
			TLSHandshakeTimeout:   connectLimit,
			ResponseHeaderTimeout: responseLimit,
		}},
	}
}

func readReleases(file string) (map[string]release, error) {
	content := pinned
	if file != "" {
		var err error
		if content, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("reading the pinned releases: %w", err)
		}
	}
	var releases map[string]release
	err := json.Unmarshal(content, &releases)
	if err == nil && len(releases) == 0 {
		err = errors.New("it pins nothing")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the pinned releases of %s: %w", file, err)
	}
	return releases, nil
}

func (p release) on(platform string) release {
	goos, arch, _ := strings.Cut(platform, "-")
	replace := strings.NewReplacer("{os}", goos, "{arch}", arch, "{platform}", platform)
	p.URL, p.Member = replace.Replace(p.URL), replace.Replace(p.Member)
	return p
}

// download adds the programs that the cache has already, or that can be downloaded. A
// download that fails is reported, and left to the next way.
func (r *resolver) download(ctx context.Context) error {
	releases, err := readReleases(r.Releases)
	if err != nil {
		return err
	}
	if err := r.reuse(ctx, releases); err != nil {
		return err
	}
	platform := runtime.GOOS + "-" + runtime.GOARCH
	d := newDownloader(r.Mirror)
	var unreleased, unreachable []string
	for _, name := range r.missing() {
		pin, ok := releases[name]
		if !ok {
			continue
		}
		sum, ok := pin.SHA256[platform]
		if !ok {
			unreleased = append(unreleased, name)
			continue
		}
		dir := r.releaseFolder(sum)
		err := r.Progress.locked(ctx, dir, name, func() error {
			if complete(dir, []string{name}) {
				return nil
			}
			return d.fetch(ctx, r.Progress, name, pin.on(platform), sum, dir)
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case errors.Is(err, errUnreachable):
			unreachable = append(unreachable, name)
		case err != nil:
			r.Progress.Printf("not downloading %s %s: %v", name, pin.Version, err)
		default:
			r.use(name, filepath.Join(dir, name), "downloaded, with the pinned checksum")
		}
	}
	if len(unreachable) > 0 {
		r.Progress.Printf("not downloading %s either", strings.Join(unreachable, ", "))
	}
	if len(unreleased) > 0 {
		r.Progress.Printf("not downloading %s: no release for %s is pinned", strings.Join(unreleased, ", "), platform)
	}
	return nil
}

// reuse adds downloads and builds of earlier runs: it needs no network.
func (r *resolver) reuse(ctx context.Context, releases map[string]release) error {
	platform := runtime.GOOS + "-" + runtime.GOARCH
	for _, name := range r.missing() {
		if sum := releases[name].SHA256[platform]; sum != "" && complete(r.releaseFolder(sum), []string{name}) {
			r.use(name, filepath.Join(r.releaseFolder(sum), name), "downloaded before, with the pinned checksum")
		}
	}
	if !slices.Contains(r.From, Build) {
		return nil
	}
	for _, m := range allModules {
		for _, name := range r.missing() {
			if _, ok := releases[name]; !ok || !slices.Contains(m.outputs(), name) {
				continue
			}
			dirs, err := r.cacheFolders(ctx, m)
			if err != nil {
				return err
			}
			r.reuseBuilt(name, dirs)
		}
	}
	return nil
}

func (r *resolver) releaseFolder(sum string) string {
	return filepath.Join(r.Cache, "release-"+sum[:min(16, len(sum))])
}

// fetch downloads a program into a folder. Nothing of that name is there unless its
// checksum was right.
func (d *downloader) fetch(ctx context.Context, progress *Progress, name string, pin release, sum, dir string) error {
	source, err := d.source(pin.URL)
	if err != nil {
		return err
	}
	if d.unreachable[source.Host] {
		return fmt.Errorf("%s: %w", source.Host, errUnreachable)
	}
	partial := filepath.Join(dir, "."+name+".partial")
	defer func() { _ = os.Remove(partial) }()
	var transfer transfer
	err = progress.Watch("downloading "+name+" "+pin.Version+" from "+source.Host, transfer.String, func() error {
		return d.save(ctx, source, partial, sum, &transfer)
	})
	if err != nil {
		return err
	}
	if pin.Member != "" {
		archive := partial
		partial += ".unpacked"
		defer func() { _ = os.Remove(partial) }()
		if err := unpack(archive, pin.Member, partial); err != nil {
			return fmt.Errorf("unpacking %s: %w", source, err)
		}
		_ = os.Remove(archive)
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return fmt.Errorf("keeping %s: %w", name, err)
	}
	if err := os.Rename(partial, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("keeping %s: %w", name, err)
	}
	return nil
}

// source is the address to download from: below the mirror by host and path, if there
// is one.
func (d *downloader) source(address string) (*url.URL, error) {
	source, err := url.Parse(address)
	if err != nil || source.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a download", address)
	}
	if d.mirror == "" {
		return source, nil
	}
	mirror, err := url.Parse(d.mirror)
	if err != nil || mirror.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a mirror; use one like https://mirror.example/path", d.mirror)
	}
	return mirror.JoinPath(source.Host, source.Path), nil
}

// transfer is how far a download is.
type transfer struct{ done, total atomic.Int64 }

func (t *transfer) String() string {
	const megabyte = 1 << 20
	if t.total.Load() <= 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d MiB", t.done.Load()/megabyte, t.total.Load()/megabyte)
}

// save writes what the source answers to a file, and checks it.
func (d *downloader) save(ctx context.Context, source *url.URL, path, sum string, t *transfer) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source.String(), nil)
	if err != nil {
		return fmt.Errorf("downloading: %w", err)
	}
	response, err := d.client.Do(request)
	if err != nil {
		d.unreachable[source.Host] = true
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address
		}
		return fmt.Errorf("connecting to %s: %w", source.Host, contextual(ctx, err))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", source, response.Status)
	}
	t.total.Store(response.ContentLength)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("downloading %s: %w", source, err)
	}
	digest := sha256.New()
	stalled := time.AfterFunc(d.stall, func() { cancel(fmt.Errorf("nothing arrived for %s", d.stall)) })
	defer stalled.Stop()
	n, err := io.Copy(io.MultiWriter(file, digest), &watched{response.Body, func(n int) {
		stalled.Reset(d.stall)
		t.done.Add(int64(n))
	}})
	err = contextual(ctx, errors.Join(err, file.Close()))
	if err != nil {
		return fmt.Errorf("downloading %s: %s arrived: %w", source, arrived(n, response.ContentLength), err)
	}
	if actual := hex.EncodeToString(digest.Sum(nil)); actual != sum {
		return fmt.Errorf("%s has the SHA-256 %s, want %s", source, actual, sum)
	}
	return nil
}

func arrived(n, total int64) string {
	if total < 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d of %d bytes", n, total)
}

// watched calls read with the size of each read.
type watched struct {
	io.Reader
	read func(int)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.read(n)
	return n, err
}

// unpack writes one file of a gzipped tar file.
func unpack(archive, member, path string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	decompressed, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for members := tar.NewReader(decompressed); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("there is no %s in it", member)
		}
		if err != nil {
			return err
		}
		if filepath.Clean(header.Name) != member || header.Typeflag != tar.TypeReg {
			continue
		}
		out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, members)
		return errors.Join(err, out.Close())
	}
}

// locked calls do while it holds the lock of a folder of the cache, which it creates:
// another command may fill the folder meanwhile.
func (p *Progress) locked(ctx context.Context, dir, what string, do func() error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the cache folder: %w", err)
	}
	lock, err := process.WaitLock(ctx, dir+".lock", func() {
		p.Printf("waiting for another command that gets %s", what)
	})
	if err != nil {
		return fmt.Errorf("taking the lock of %s: %w", what, err)
	}
	defer lock.Unlock()
	return do()
}
