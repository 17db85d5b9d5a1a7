package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is neither root nor one of an image that anybody builds on. The programs run as
// any other, too.
const user = "65532:65532"

const home = "https://github.com/lintel-policy/lintel"

// one makes the image of a program, for all platforms.
func (m *maker) one(ctx context.Context, p program, scratch string) (made, error) {
	result := made{program: p, index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, platform := range m.platforms {
		file, err := m.build(ctx, p, platform, scratch)
		if err != nil {
			return made{}, err
		}
		image, err := m.image(p, platform, file)
		if err != nil {
			return made{}, err
		}
		sbom, err := m.sbom(p, platform, file, image)
		if err != nil {
			return made{}, err
		}
		result.index = mutate.AppendManifests(result.index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &platform},
		})
		result.sboms = append(result.sboms, sbom)
	}
	result.index = mutate.Annotations(result.index, m.annotations(p)).(v1.ImageIndex)
	return result, nil
}

// image has a layer with what a program without a shell wants of a system, which is the
// same for all programs, and one with the program.
func (m *maker) image(p program, platform v1.Platform, file string) (v1.Image, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	system, err := layer(m.created,
		entry{"etc/", 0o755, nil},
		entry{"etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nlintel:x:65532:65532:lintel:/tmp:/sbin/nologin\n")},
		entry{"etc/group", 0o644, []byte("root:x:0:\nlintel:x:65532:\n")},
		entry{"tmp/", 0o1777, nil},
	)
	if err != nil {
		return nil, err
	}
	program, err := layer(m.created, entry{p.Image, 0o755, content})
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config := &v1.ConfigFile{
		Created:      v1.Time{Time: m.created},
		OS:           platform.OS,
		Architecture: platform.Architecture,
		Variant:      platform.Variant,
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:       user,
			WorkingDir: "/",
			Entrypoint: []string{"/" + p.Image},
			Labels:     m.annotations(p),
		},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	for _, added := range []mutate.Addendum{
		{Layer: system, History: v1.History{CreatedBy: "users and /tmp", Created: v1.Time{Time: m.created}}},
		{Layer: program, History: v1.History{CreatedBy: p.Image + " " + m.Version, Created: v1.Time{Time: m.created}}},
	} {
		added.MediaType = types.OCILayer
		if image, err = mutate.Append(image, added); err != nil {
			return nil, err
		}
	}
	return mutate.Annotations(image, m.annotations(p)).(v1.Image), nil
}

// annotations are those that the OCI image specification names.
func (m *maker) annotations(p program) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       p.Image,
		"org.opencontainers.image.description": p.Description,
		"org.opencontainers.image.source":      home,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.revision":    m.commit,
		"org.opencontainers.image.version":     m.Version,
		"org.opencontainers.image.created":     m.created.Format(time.RFC3339),
	}
}

type entry struct {
	// name of a folder ends in a slash.
	name    string
	mode    int64
	content []byte
}

// layer holds entries that root owns.
func layer(created time.Time, entries ...entry) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, e := range entries {
		header := &tar.Header{
			Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: e.name,
			Mode: e.mode, Size: int64(len(e.content)), ModTime: created,
		}
		if e.name[len(e.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
}

// writeLayout writes all images into one OCI layout, which must not exist yet: files of another
// version would stay in it. Each has its reference twice, as the specification and as
// containerd read it.
func writeLayout(folder string, all []made, version string) error {
	if _, err := os.Stat(folder); err == nil {
		return fmt.Errorf("%s exists: remove it, or name another folder", folder)
	}
	target, err := layout.Write(folder, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	for _, one := range all {
		err := target.AppendIndex(one.index, layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": version,
			"io.containerd.image.name":          path.Join("localhost", one.Image+":"+version),
		}))
		if err != nil {
			return err
		}
		for _, sbom := range one.sboms {
			if err := target.AppendImage(sbom); err != nil {
				return err
			}
		}
	}
	return nil
}
