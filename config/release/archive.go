package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// packed is a file in an archive.
type packed struct {
	content []byte
	mode    int64
}

// tarGz is an archive of files, by their names, that is the same each time.
func (m *maker) tarGz(files map[string]packed) ([]byte, error) {
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := files[name]
		header := &tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: name, Mode: file.mode, Size: int64(len(file.content)), ModTime: m.created}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// download is an archive of a program for one platform.
type download struct {
	Platform v1.Platform
	// File is the archive's name, Program that of the program in it, and SHA256 the
	// archive's digest in hexadecimal.
	File, Program, SHA256 string

	content []byte
}

// download is the archive of a program and its license.
func (m *maker) download(ctx context.Context, p program, platform v1.Platform, scratch string) (download, error) {
	file, err := m.build(ctx, p, platform, scratch)
	if err != nil {
		return download{}, err
	}
	built, err := os.ReadFile(file)
	if err != nil {
		return download{}, err
	}
	license, err := os.ReadFile(filepath.Join(m.Folder, "LICENSE"))
	if err != nil {
		return download{}, err
	}
	out := download{Platform: platform, Program: p.Image, File: strings.Join([]string{p.Image, m.Version, platform.OS, platform.Architecture}, "_") + ".tar.gz"}
	if platform.OS == "windows" {
		out.Program += ".exe"
	}
	out.content, err = m.tarGz(map[string]packed{out.Program: {built, 0o755}, "LICENSE": {license, 0o644}})
	out.SHA256 = fmt.Sprintf("%x", sha256.Sum256(out.content))
	return out, err
}

//go:embed krew.yaml
var krewText string

var krewTemplate = template.Must(template.New("krew.yaml").Parse(krewText))

// writeDownloads writes into a new folder the archives of a program for all platforms,
// sha256sums.txt with their digests, and krew.yaml: the manifest by which krew installs
// them from url.
func (m *maker) writeDownloads(ctx context.Context, p program, url, folder string) error {
	scratch, err := os.MkdirTemp("", "lintel-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	var all []download
	sums := ""
	for _, platform := range m.platforms {
		one, err := m.download(ctx, p, platform, scratch)
		if err != nil {
			return fmt.Errorf("%s for %s: %w", p.Image, platform, err)
		}
		all = append(all, one)
		sums += one.SHA256 + "  " + one.File + "\n"
	}
	var manifest bytes.Buffer
	if err := krewTemplate.Execute(&manifest, map[string]any{"Version": m.Version, "URL": strings.TrimSuffix(url, "/"), "Downloads": all}); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("writing the archives, to a folder that must be new: %w", err)
	}
	files := map[string][]byte{"sha256sums.txt": []byte(sums), "krew.yaml": manifest.Bytes()}
	for _, one := range all {
		files[one.File] = one.content
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
