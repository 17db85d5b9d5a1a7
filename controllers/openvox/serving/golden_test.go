package serving

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
)

// TestPodTemplatesStay: an upgrade of Lintel replaces no Pod of an object that uses no new field.
// A template that changes on purpose is announced in CHANGELOG.md, and its digest updated here.
func TestPodTemplatesStay(t *testing.T) {
	t.Parallel()
	code := openvoxtest.MakeServer("code")
	code.Spec.Code = codeOf(v1alpha1.CodeSource{Image: "example.com/code:1", ImagePullPolicy: corev1.PullAlways, ImagePullSecret: "code"})
	whole := factsOf(openvoxtest.MakeCAServer())
	whole.classifier = &v1alpha1.NodeClassifier{Spec: v1alpha1.NodeClassifierSpec{Cache: &v1alpha1.NodeClassifierCache{Enabled: true, Directory: "/var/cache/openvox-enc"}}}
	whole.files[configfiles.ReportProcessorFile] = "x"
	whole.config.Spec.Code = codeOf(v1alpha1.CodeSource{ClaimName: "code"})
	db := databaseFacts{
		db: newDatabase(), ca: openvoxtest.MakeCA("main"), files: map[string]string{"auth.conf": "x"}, secret: map[string]string{"database.ini": "x"},
		pair: whole.pair, bundle: whole.bundle, fsGroup: whole.fsGroup,
	}
	stored := db
	stored.db = newDatabase()
	stored.db.Spec.Storage = &v1alpha1.StorageSpec{Size: resource.MustParse("1Gi")}
	for name, c := range map[string]struct {
		template corev1.PodTemplateSpec
		digest   string
	}{
		"the CA's server":          {podOf(t, factsOf(openvoxtest.MakeCAServer())), "5e54ae76e33c4b58"},
		"a server of catalogs":     {podOf(t, factsOf(openvoxtest.MakeServer("catalogs"))), "9c83a7c522c27512"},
		"code in an image":         {podOf(t, factsOf(code)), "6776abae1e006b28"},
		"all that a Config has":    {podOf(t, whole), "f39b11b84a9dcf71"},
		"a Database":               {db.statefulSet().Spec.Template, "e86f21cf4af1db2c"},
		"a Database with a volume": {stored.statefulSet().Spec.Template, "7bddf41ad9a150d2"},
	} {
		text, err := json.Marshal(c.template)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		assert.Equal(t, c.digest, hex.EncodeToString(sum[:8]), "%s: an upgrade would replace its Pods\n%s", name, text)
	}
}
