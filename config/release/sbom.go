package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// sbomType is the media type that SPDX has registered for its JSON.
const sbomType = "application/spdx+json"

// sbom is an artifact that refers to an image and says which Go modules its program is
// made of, as the program itself says.
func (m *maker) sbom(p program, platform v1.Platform, file string, image v1.Image) (v1.Image, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := spdxjson.Write(m.document(p, platform, info, digest), &text, spdxjson.Indent("  ")); err != nil {
		return nil, err
	}
	subject, err := partial.Descriptor(image)
	if err != nil {
		return nil, err
	}
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	artifact, err = mutate.Append(artifact, mutate.Addendum{Layer: static.NewLayer(text.Bytes(), sbomType), MediaType: sbomType})
	if err != nil {
		return nil, err
	}
	artifact = mutate.Annotations(artifact, map[string]string{"org.opencontainers.image.created": m.created.Format(time.RFC3339)}).(v1.Image)
	return mutate.Subject(artifact, v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}).(v1.Image), nil
}

func (m *maker) document(p program, platform v1.Platform, info *debug.BuildInfo, digest v1.Hash) *spdx.Document {
	const self = "image"
	document := &spdx.Document{
		SPDXVersion:       spdx.Version,
		DataLicense:       spdx.DataLicense,
		SPDXIdentifier:    "DOCUMENT",
		DocumentName:      p.Image + " " + m.Version + " " + platform.String(),
		DocumentNamespace: home + "/sbom/" + digest.Hex,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "Lintel"}},
			Created:  m.created.Format(time.RFC3339),
		},
	}
	add := func(id, name, version, license, purl string, sum []common.Checksum) {
		document.Packages = append(document.Packages, &spdx.Package{
			PackageName: name, PackageVersion: version, PackageSPDXIdentifier: common.ElementID(id),
			PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION",
			PackageLicenseDeclared: license, PackageCopyrightText: "NOASSERTION", PackageChecksums: sum,
			PackageExternalReferences: []*spdx.PackageExternalReference{{
				Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: purl,
			}},
		})
		kind, from := common.TypeRelationshipContains, self
		if id == self {
			kind, from = common.TypeRelationshipDescribe, "DOCUMENT"
		}
		document.Relationships = append(document.Relationships, &spdx.Relationship{
			RefA: common.MakeDocElementID("", from), RefB: common.MakeDocElementID("", id), Relationship: kind,
		})
	}
	add(self, p.Image, m.Version, "Apache-2.0",
		fmt.Sprintf("pkg:oci/%s@sha256%%3A%s?arch=%s", p.Image, digest.Hex, platform.Architecture),
		[]common.Checksum{{Algorithm: common.SHA256, Value: digest.Hex}})
	add("main", info.Main.Path, m.Version, "Apache-2.0", "pkg:golang/"+info.Main.Path+"@"+m.Version, nil)
	add("stdlib", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause",
		"pkg:golang/stdlib@"+strings.TrimPrefix(info.GoVersion, "go"), nil)
	for i, module := range info.Deps {
		module = cmp.Or(module.Replace, module)
		id := fmt.Sprintf("module-%d", i+1)
		add(id, module.Path, module.Version, "NOASSERTION", "pkg:golang/"+strings.ToLower(module.Path)+"@"+module.Version, nil)
		// The checksum of go.sum is of a module's files, which SPDX has no name for.
		document.Packages[len(document.Packages)-1].PackageComment = "go.sum " + module.Sum
	}
	return document
}
